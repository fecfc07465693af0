import GodwitModel
import GodwitXcode
import Logging

/// Log lines that tell which versions a job has found, as Core Data tells with `-com.apple.CoreData.MigrationDebug`.
extension JobLoader {
  /// The hashes of a model's entities, in the order of their names, as the values of a log line.
  static func hashes(_ hashes: [String: VersionHash], of model: String) -> Logger.Metadata {
    ["model": "\(model)", "hashes": "\(text(hashes))"]
  }

  private static func text(_ hashes: [String: VersionHash]) -> String {
    hashes.sorted { ManagedObjectModel.precedes($0.key, $1.key) }.map { "\($0.key) \($0.value)" }
      .joined(separator: ", ")
  }

  /// Says which models a mapping model is for: by the hashes of their entities, or by their names in a text file, which
  /// has no hashes.
  func logModels(of mapping: ListedMapping, at path: String) {
    switch mapping {
    case .text(let model):
      logger.debug(
        "models that a mapping model names",
        metadata: [
          "file": "\(path)", "source": "\(model.sourceModelName ?? "none")",
          "destination": "\(model.destinationModelName ?? "none")",
        ])
    case .xcode(let model, _):
      logger.debug(
        "version hashes of a mapping model",
        metadata: [
          "file": "\(path)", "source": "\(Self.text(model.sourceEntityHashes))",
          "destination": "\(Self.text(model.destinationEntityHashes))",
        ])
    }
  }
}
