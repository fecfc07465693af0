import ArgumentParser
import GodwitManifest
import GodwitModel

struct SchemaVerb: Verb {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Print the JSON Schema of an output or of a file that you write; without a name, list all.",
    discussion: """
      The schemas are those of this version of Godwit. Manifests and mapping files are YAML; an editor checks them against \
      the same schemas.
      """)

  @Argument(help: ArgumentHelp("The name of a schema; the type of a JSON document is its name.", valueName: "NAME"))
  var name: String?
  @OptionGroup var format: FormatOptions

  static var outputs: [OutputKind] { [.schemas] }

  mutating func run(in session: CommandSession) throws -> Int32 {
    let schemas = PublishedSchema.all
    if let name {
      guard let schema = schemas.first(where: { $0.name == name }) else {
        throw GodwitError(
          .usage, "there is no schema '\(name)'" + Spelling.suggestion(for: name, among: schemas.map(\.name)),
          remedy: "list the schemas with `godwit schema`")
      }
      // It is JSON in either format.
      session.output.write(data: schema.text)
      return 0
    }
    switch format.format {
    case .json:
      let entries = schemas.map { Record.Entry(name: $0.name, title: $0.title, description: $0.description) }
      try session.print(json: Record(schemas: entries), as: .schemas)
    case .text:
      session.output.write(TextTable.text(schemas.map { [$0.name, $0.description] }))
    }
    return 0
  }

  private struct Record: Encodable {
    struct Entry: Encodable {
      let name, title, description: String
    }
    let schemas: [Entry]
  }
}
