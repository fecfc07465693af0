internal import FaultShim
import Foundation

/// Runs code of this thread on a disk that fails.
///
/// 1. `run` arms the thread: every write, sync, truncation, rename, link and removal of SQLite, Foundation and the code
///    under test is counted, from 1, and fails as the fault says.
///    A layer for looks counts what opens files, reads their bytes or asks for their status instead.
/// 2. After a power cut, `survive` leaves on the disk what would be there when the power is back.
/// The layer sits under libc's calls, so that no code of the product knows of it. Several threads may run code on one
/// disk: their operations come one after the other.
package final class FaultLayer {
  package enum Fault: Sendable, CustomStringConvertible {
    case none
    /// One operation fails with an error number.
    case fail(Int32, at: Int)
    /// From that operation on the disk has no room left.
    case full(at: Int)
    /// A write takes half of its bytes, and the next one finds the disk full.
    case short(at: Int)
    /// The process dies before that operation: nothing is done after it, all before it stays.
    case death(at: Int)
    /// From that operation on nothing reaches the disk any more.
    case powerCut(at: Int)

    var position: Int {
      switch self {
      case .none: .max
      case .fail(_, let at), .full(let at), .short(let at), .death(let at), .powerCut(let at): at
      }
    }

    package var description: String {
      switch self {
      case .none: "no fault"
      case .fail(let code, let at): "\(String(cString: strerror(code))) at \(at)"
      case .full(let at): "disk full from \(at)"
      case .short(let at): "short write at \(at)"
      case .death(let at): "death at \(at)"
      case .powerCut(let at): "power cut at \(at)"
      }
    }
  }

  package let fault: Fault
  /// The operations asked for, in order, until the fault struck and the operation that it struck.
  package private(set) var operations: [DiskOperation] = []
  /// Whether the code under test got as far as the fault.
  package private(set) var hasStruck = false

  /// Whether no file system can be synced at once.
  package var failsSyncAll = false

  /// Hears of every operation before it is carried out.
  package var beforeEach: ((DiskOperation) -> Void)?
  /// Hears of every operation that was carried out.
  package var afterEach: ((DiskOperation) -> Void)?

  private let keepsAll: Bool
  /// The folder whose looks count; nil where changes do.
  private let looksAt: String?
  private var count = 0
  private var owesFullDisk = false
  private let disk: DurableDisk?
  /// Held from the question whether an operation may go on until it was carried out.
  private let turn = NSLock()
  /// The thread whose operation is being carried out.
  private var holder: pthread_t?

  /// - Parameters:
  ///   - root: The folder that a power cut is about; needed for that fault alone.
  ///   - keepsAll: Whether `operations` holds those after the fault too.
  package init(_ fault: Fault, root: String? = nil, keepsAll: Bool = false) throws {
    self.fault = fault
    self.keepsAll = keepsAll
    looksAt = nil
    if case .powerCut = fault, let root { disk = try DurableDisk(root: root) } else { disk = nil }
  }

  /// A layer for the looks at a folder. Only `.none` and `.fail` make sense.
  package init(_ fault: Fault, looksAt folder: String) {
    (self.fault, keepsAll, looksAt, disk) = (fault, false, folder, nil)
  }

  /// The operation that the fault struck.
  package var struck: DiskOperation? { hasStruck ? operations.last : nil }

  package func run<T>(_ body: () throws -> T) rethrows -> T {
    let context = Unmanaged.passUnretained(self).toOpaque()
    fault_arm(
      { context, call in
        guard let context, let call else { return fault_verdict(failure: 0, allowed: -1, real: 1) }
        return Unmanaged<FaultLayer>.fromOpaque(context).takeUnretainedValue().begin(DiskOperation(call.pointee))
      },
      { context, call, result in
        guard let context, let call else { return }
        Unmanaged<FaultLayer>.fromOpaque(context).takeUnretainedValue().end(DiskOperation(call.pointee), result)
      }, context, looksAt == nil ? 0 : 1)
    defer {
      fault_disarm()
      withExtendedLifetime(self) {}
    }
    return try body()
  }

  /// Puts the disk into the state in which the power cut left it.
  package func survive(_ survival: DurableDisk.Survival) throws { try disk?.restore(survival) }

  private func begin(_ operation: DiskOperation) -> fault_verdict {
    guard looksAt == nil, Self.isOfDisk(operation) else { return verdict(operation) }
    turn.lock()
    let verdict = verdict(operation)
    if verdict.failure == 0 { holder = pthread_self() } else { turn.unlock() }
    return verdict
  }

  private func end(_ operation: DiskOperation, _ result: Int64) {
    guard holder == pthread_self() else { return }
    if result >= 0 {
      disk?.follow(operation)
      afterEach?(operation)
    }
    holder = nil
    turn.unlock()
  }

  /// Pipes, terminals and the like are not disks; a folder in memory stands for one.
  private static func isOfDisk(_ operation: DiskOperation) -> Bool {
    operation.path.hasPrefix("/") && !operation.path.hasPrefix("/proc/")
      && (!operation.path.hasPrefix("/dev/") || operation.path.hasPrefix("/dev/shm/"))
  }

  private func verdict(_ operation: DiskOperation) -> fault_verdict {
    // A sync of the machine's own disk proves nothing here, and costs most of the time.
    let pass = fault_verdict(failure: 0, allowed: -1, real: [.sync, .syncAll].contains(operation.kind) ? 0 : 1)
    guard Self.isOfDisk(operation) else { return pass }
    if let looksAt, !operation.path.hasPrefix(looksAt) { return pass }
    count += 1
    beforeEach?(operation)
    if !hasStruck || keepsAll { operations.append(operation) }
    if operation.kind == .syncAll, failsSyncAll { return fault_verdict(failure: EIO, allowed: -1, real: 1) }
    if count == fault.position { hasStruck = true }
    guard hasStruck else { return pass }
    switch fault {
    case .none: return pass
    case .fail(let code, let at): return count == at ? fault_verdict(failure: code, allowed: -1, real: 1) : pass
    case .full: return operation.kind.needsSpace ? fault_verdict(failure: ENOSPC, allowed: -1, real: 1) : pass
    case .short(let at):
      guard operation.kind == .write else { return pass }
      if count == at, operation.length > 1 {
        owesFullDisk = true
        return fault_verdict(failure: 0, allowed: operation.length / 2, real: 1)
      }
      guard owesFullDisk else { return pass }
      owesFullDisk = false
      return fault_verdict(failure: ENOSPC, allowed: -1, real: 1)
    case .death, .powerCut: return fault_verdict(failure: EIO, allowed: -1, real: 1)
    }
  }
}
