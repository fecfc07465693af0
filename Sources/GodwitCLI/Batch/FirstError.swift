import GodwitJob
import GodwitManifest
import GodwitModel
import Synchronization

/// The first of the errors that threads report.
final class FirstError: Sendable {
  private let state = Mutex<GodwitError?>(nil)

  var error: GodwitError? { state.withLock { $0 } }

  func set(_ error: GodwitError) { state.withLock { $0 = $0 ?? error } }
}

/// The source and destination of a store: the part of a `ManifestStore` that a thread needs, without its loader.
struct StorePlace: Sendable {
  let path, destination: String

  init(_ store: ManifestStore) { self.init(path: store.path, destination: store.destination) }

  init(path: String, destination: String) { (self.path, self.destination) = (path, destination) }
}

/// Loads the job of a verification on the thread of the store.
///
/// It shares nothing with the loaders of other stores: all that it holds are values and closures that any thread may call.
struct ProofLoader: @unchecked Sendable {
  private let loader: JobLoader

  init(_ store: ManifestStore) { loader = store.loader.alone }

  func job() throws -> MigrationJob { try loader.job(for: .verification) }
}

extension GodwitCommand {
  /// Any error as one of ours.
  static func known(_ error: any Error) -> GodwitError { error as? GodwitError ?? unexpected(error) }
}
