import ArgumentParser
import GodwitInference
import GodwitManifest
import GodwitModel

struct MappingNewVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "new", abstract: "Draft a mapping file as Xcode's new mapping model would begin.",
    discussion: """
      A value that only a person knows is printed as \(MappingGap.marker); no job takes the file before it is filled.
      """)

  @Argument(help: MappingVerb.source) var source: String
  @Argument(help: MappingVerb.destination) var destination: String
  @OptionGroup var output: MappingOutput

  mutating func run(in session: CommandSession) throws -> Int32 {
    let draft = MappingDraft(from: try ModelVerb.read(source), to: try ModelVerb.read(destination))
    try output.write(draft.model, remarks: draft.remarks, in: session)
    let gaps = draft.remarks.count(where: \.isGap)
    if gaps > 0 {
      session.diagnostics.write("godwit: \(gaps) \(gaps == 1 ? "gap" : "gaps") to fill, marked \(MappingGap.marker)\n")
    }
    return 0
  }
}
