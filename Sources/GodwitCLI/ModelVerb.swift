import ArgumentParser
import GodwitModel
import GodwitXcode

/// The verbs about models.
struct ModelVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "model", abstract: "Show version hashes, the SQL schema, or what changed between two models.",
    subcommands: [ModelHashVerb.self, ModelSchemaVerb.self, ModelDiffVerb.self])

  /// The model that a MODEL argument names.
  static func read(_ text: String) throws -> ManagedObjectModel {
    let reference = ModelReference(parsing: text)
    let bundle = try ModelBundle(contentsOf: reference.path)
    guard let version = reference.version else { return try bundle.currentModel() }
    return try bundle.model(named: version)
  }

  static let help = ArgumentHelp(
    "A .xcdatamodel or .mom; or a .xcdatamodeld or .momd: its current version, or PATH#Version Name.",
    valueName: "MODEL")
}
