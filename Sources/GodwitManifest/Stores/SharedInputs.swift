import Foundation
package import GodwitJob
import GodwitModel

/// The inputs that the jobs of a manifest for many stores read once: models, listed mapping models, and the steps from
/// each version.
///
/// Only one thread loads jobs. A model that cannot be read is tried again for the next store.
package final class SharedInputs {
  private var versions: ModelVersions?
  /// The way of each store that was loaded, by its version hashes. The models decide all of it.
  var ways: [[String: [UInt8]]: JobWay] = [:]
  private var listed: [ListedMapping]?
  private var otherWays: [[MigrationStep]]?
  /// The losses that the stores may have.
  let possibleLosses = PossibleLosses()

  package init() {}

  private func cached<Value>(
    _ place: ReferenceWritableKeyPath<SharedInputs, Value?>, _ read: () throws -> Value
  ) rethrows -> Value {
    if let value = self[keyPath: place] { return value }
    let made = try read()
    self[keyPath: place] = made
    return made
  }

  func versions(_ read: () throws -> ModelVersions) rethrows -> ModelVersions { try cached(\.versions, read) }

  func listed(_ read: () throws -> [ListedMapping]) rethrows -> [ListedMapping] { try cached(\.listed, read) }

  func otherWays(_ find: () throws -> [[MigrationStep]]) rethrows -> [[MigrationStep]] { try cached(\.otherWays, find) }
}

/// Loads the jobs of several threads, one after the other, with the inputs that they share.
///
/// All loaders must have the same models and mapping models.
package final class SharedLoading: @unchecked Sendable {
  private let inputs = SharedInputs()
  private let turn = NSLock()

  package init() {}

  /// The job of a loader: see `JobLoader.job(for:)`.
  package func job(_ loader: JobLoader, for purpose: JobLoader.Purpose = .migration) throws -> MigrationJob {
    var loader = loader
    loader.inputs = inputs
    return try turn.withLock {
      // A fault in the models comes before one in a store, as in a job of its own.
      _ = try loader.modelVersions()
      return try loader.job(for: purpose)
    }
  }
}

/// The models of a job and the steps between them.
struct JobWay {
  var source, destination: ManagedObjectModel
  /// Where the source model is from, unless the manifest lists it.
  var origin: String?
  var steps: [MigrationStep]
  var search: MappingSearchRecord
  /// The store that decides names which the destination model leaves open.
  var layout: LayoutStore?
}

extension JobLoader {
  /// The versions that the manifest lists. Those of a configuration are read for each job: they are cut down to it.
  func modelVersions() throws -> ModelVersions {
    guard let inputs, manifest.configuration == nil else { return try ModelVersions(manifest.models) }
    return try inputs.versions { try ModelVersions(manifest.models) }
  }
}
