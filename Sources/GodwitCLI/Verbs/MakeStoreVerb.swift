import ArgumentParser
import GodwitModel
import GodwitSynthesis

struct MakeStoreVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "make-store", abstract: "Make a synthetic store of any size from a model.",
    discussion: """
      The same model, number of rows and seed give the same store. The store uses every entity, attribute and \
      relationship, and keeps every rule of the model.
      """)

  @Argument(help: ModelVerb.help, completion: .file()) var model: String
  @Argument(
    help: ArgumentHelp("The SQLite store to create; it must not exist yet.", valueName: "OUT"), completion: .file())
  var out: String

  @Option(help: ArgumentHelp("Number of objects, over all entities.", valueName: "N")) var rows: Int
  @Option(help: ArgumentHelp("Seed of the random values.", valueName: "S")) var seed: UInt64 = 1
  @Flag(help: "Include what migrations often fail on: gaps between keys, huge keys, NULL, Unicode, large data.")
  var nasty = false
  @OptionGroup var format: FormatOptions

  func validate() throws {
    guard rows >= 0, rows <= StoreSynthesis.rowLimit else {
      throw ValidationError("cannot make \(rows) rows: expected 0 to \(StoreSynthesis.rowLimit)")
    }
  }

  static var isForOutput: Bool { false }

  static var outputs: [OutputKind] { [.makeStore] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let model = try ModelVerb.read(model)
    try StoreSynthesis(model: model, rows: rows, seed: seed, isNasty: nasty).write(to: out)
    switch format.format {
    case .json:
      let record = Record(path: out, model: model.name, objects: rows, seed: seed, isNasty: nasty)
      try session.print(json: record, as: .makeStore)
    case .text:
      session.output.write(
        "\(out): \(rows.counted("object")) of '\(model.name)', seed \(seed)\(nasty ? ", nasty" : "")".onOneLine + "\n")
    }
    return 0
  }

  private struct Record: Encodable {
    let path, model: String
    let objects: Int
    let seed: UInt64
    let isNasty: Bool
  }
}
