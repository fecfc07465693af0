import ArgumentParser
import GodwitModel
import GodwitStore

struct ModelSchemaVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "schema", abstract: "Print the SQL schema that Core Data would create.")

  @Argument(help: ModelVerb.help, completion: .file()) var model: String
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.modelSchema] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let model = try ModelVerb.read(model)
    let schema = StoreSchema(model: model)
    try schema.checkNames()
    switch format.format {
    case .json:
      try session.print(
        json: Record(
          model: model.name, tables: schema.createStatements, indexes: schema.indexStatements,
          triggers: schema.triggerStatements, remarks: schema.remarks), as: .modelSchema)
    case .text:
      session.output.write(data: schema.schemaSQL)
      session.output.write(schema.remarks.map { "-- \($0)\n" }.joined())
    }
    return 0
  }

  private struct Record: Encodable {
    let model: String
    /// SQL statements.
    let tables, indexes, triggers: [String]
    /// Names that are a guess, and content whose storage by Core Data is not known.
    let remarks: [String]
  }
}
