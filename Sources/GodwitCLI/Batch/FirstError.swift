import GodwitManifest
import GodwitModel
import Synchronization

/// The first of the errors that threads report.
final class FirstError: Sendable {
  private let state = Mutex<GodwitError?>(nil)

  var error: GodwitError? { state.withLock { $0 } }

  func set(_ error: GodwitError) { state.withLock { $0 = $0 ?? error } }
}

/// Where a store and what is made of it are: what a thread needs of a `ManifestStore`, whose loader stays on its own.
struct StorePlace: Sendable {
  let path, destination: String

  init(_ store: ManifestStore) { (path, destination) = (store.path, store.destination) }
}

extension GodwitCommand {
  /// Any error as one of ours.
  static func known(_ error: any Error) -> GodwitError { error as? GodwitError ?? unexpected(error) }
}
