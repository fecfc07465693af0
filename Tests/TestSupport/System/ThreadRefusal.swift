internal import FaultShim

/// A system that makes no thread for the calling one, as under `ulimit -u`.
package enum ThreadRefusal {
  package static func run<T>(_ body: () throws -> T) rethrows -> T {
    fault_refuse_threads(1)
    defer { fault_refuse_threads(0) }
    return try body()
  }
}
