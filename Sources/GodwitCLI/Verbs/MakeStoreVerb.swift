import ArgumentParser
import GodwitModel
import GodwitSynthesis

struct MakeStoreVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "make-store", abstract: "Make a synthetic store of any size from a model.",
    discussion: """
      Equal models, rows and seeds give equal stores. Every entity, attribute and relationship is used, and every \
      rule of the model kept.
      """)

  @Argument(help: ModelVerb.help) var model: String
  @Argument(help: ArgumentHelp("The store to make; nothing may be there yet.", valueName: "OUT")) var out: String

  @Option(help: ArgumentHelp("How many objects, over all entities.", valueName: "N")) var rows: Int
  @Option(help: ArgumentHelp("What the values are drawn from.", valueName: "S")) var seed: UInt64 = 1
  @Flag(help: "Make what a migration may stumble over: holes in keys, huge keys, NULL, Unicode, large data.")
  var nasty = false

  func validate() throws {
    guard rows >= 0, rows <= StoreSynthesis.rowLimit else {
      throw ValidationError("cannot make \(rows) rows: expected 0 to \(StoreSynthesis.rowLimit)")
    }
  }

  static var isForOutput: Bool { false }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let model = try ModelVerb.read(model)
    try StoreSynthesis(model: model, rows: rows, seed: seed, isNasty: nasty).write(to: out)
    session.output.write("\(out): \(rows) objects of '\(model.name)', seed \(seed)\(nasty ? ", nasty" : "")\n")
    return 0
  }
}
