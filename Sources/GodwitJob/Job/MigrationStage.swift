public import Foundation
public import GodwitModel

/// A stop on the way from one model version to another, Core Data's `NSMigrationStage`.
///
/// A path goes through the version of every stage between source and destination. The stage's hooks run before and
/// after the step that leads to its version. Without hooks, the inferred steps around the version run as one if the
/// result is equal.
///
/// ```swift
/// let stages: [MigrationStage] = [
///   .lightweight(to: "Library 2"),
///   .custom(to: "Library 3", didMigrate: .init("fill shelf marks") { context in … }),
/// ]
/// ```
public struct MigrationStage: Sendable {
  /// The input of a hook.
  public struct Context: Sendable {
    /// The store before the step, or the store that the step made.
    public var store: URL { URL(filePath: storePath) }
    package var storePath: String
    /// Whether the hook may change the store. The source of a job never changes.
    package var isStoreWritable: Bool
    /// The version before the step.
    public var sourceModel: ManagedObjectModel
    /// The version after the step.
    public var destinationModel: ManagedObjectModel

    package init(
      storePath: String, isStoreWritable: Bool, sourceModel: ManagedObjectModel, destinationModel: ManagedObjectModel
    ) {
      self.storePath = storePath
      self.isStoreWritable = isStoreWritable
      self.sourceModel = sourceModel
      self.destinationModel = destinationModel
    }
  }

  /// Code that runs before or after a step.
  ///
  /// If a run is killed during a hook, the next run calls the hook again. It must give the same result then.
  public struct Hook: Sendable {
    /// Represents the hook in the digest of the job: change it when the hook's code changes.
    package var identity: String
    /// What runs. An error that it throws stops the run.
    package var body: @Sendable (Context) throws -> Void

    /// A hook.
    ///
    /// - Parameters:
    ///   - identity: Represents the hook in the digest of the job: change it when the hook's code changes.
    ///   - body: What runs. It may be called again after an interruption.
    public init(_ identity: String, body: @escaping @Sendable (Context) throws -> Void) {
      self.identity = identity
      self.body = body
    }
  }

  /// The name of the version that the stage leads to.
  package var destinationModelName: String
  /// Core Data's `willMigrateHandler`: the store still has the earlier version.
  package var willMigrate: Hook?
  /// Core Data's `didMigrateHandler`: the store has the stage's version, and nobody else sees it yet.
  package var didMigrate: Hook?
  package var location: GodwitError.Location?

  /// A stage without code, `NSLightweightMigrationStage`.
  public static func lightweight(to name: String) -> MigrationStage { MigrationStage(destinationModelName: name) }

  /// A stage with code, `NSCustomMigrationStage`.
  public static func custom(to name: String, willMigrate: Hook? = nil, didMigrate: Hook? = nil) -> MigrationStage {
    MigrationStage(destinationModelName: name, willMigrate: willMigrate, didMigrate: didMigrate)
  }
}
