public import GodwitJob
import GodwitModel
import GodwitStore
public import GodwitVerifier

/// The result of a ``TestMigration``: the objects of the destination, read into memory. The files are deleted.
public struct MigratedStore: Sendable {
  /// The summary of the run: objects, losses, notes.
  public let summary: MigrationSummary
  /// The verifier's report. It has no differences. Values that only the policy can explain are counted as not proved.
  public let report: VerificationReport
  private let content: MigratedContent

  init(_ content: MigratedContent, summary: MigrationSummary, report: VerificationReport) {
    self.content = content
    self.summary = summary
    self.report = report
  }

  /// The objects of an entity and of its subentities, by key.
  ///
  /// - Parameter entityName: An entity of the destination model.
  /// - Throws: `.usage` (64) when the model has no such entity.
  public func objects(_ entityName: String) throws -> [MigratedObject] {
    let model = content.model
    guard model.entity(entityName) != nil else {
      let names = model.entities.map(\.name)
      throw GodwitError(
        .usage,
        "cannot read the objects of '\(entityName)': model '\(model.name)' has no such entity"
          + Spelling.suggestion(for: entityName, among: names),
        remedy: "read one of \(names.sorted().joined(separator: ", "))")
    }
    return content.objects.filter { model.isKind($0.entity, of: entityName) }.map {
      MigratedObject(entityName: $0.entity, key: $0.key, content: content)
    }
  }
}
