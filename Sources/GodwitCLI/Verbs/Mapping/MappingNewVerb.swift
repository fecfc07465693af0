import ArgumentParser
import GodwitManifest
import GodwitModel

struct MappingNewVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "new", abstract: "Draft a mapping file, as Xcode drafts a new mapping model.",
    discussion: """
      A value that you must decide is printed as the placeholder \(MappingPlaceholder.marker). No job accepts the file until \
      every placeholder is replaced.
      """)

  @Argument(help: MappingVerb.source, completion: .file()) var source: String
  @Argument(help: MappingVerb.destination, completion: .file()) var destination: String
  @OptionGroup var output: MappingOutput

  static var outputs: [OutputKind] { [.mappingResult] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let draft = MappingDraft(from: try ModelVerb.read(source), to: try ModelVerb.read(destination))
    try output.write(draft.model, remarks: draft.remarks, in: session)
    let gaps = draft.remarks.count(where: \.isPlaceholder)
    if gaps > 0 {
      session.diagnostics.write(
        "godwit: \(gaps.counted("placeholder")) to replace, marked \(MappingPlaceholder.marker)\n")
    }
    return 0
  }
}
