import Foundation
import GodwitModel

/// The process's resident memory, as the kernel counts it.
package enum ProcessMemory {
  /// Bytes resident now; 0 where the system does not tell.
  package static var residentBytes: Int64 { CLibrary.residentBytes(isPeak: false) ?? field("VmRSS:") }
  /// The most that was resident so far.
  package static var peakBytes: Int64 { CLibrary.residentBytes(isPeak: true) ?? field("VmHWM:") }

  private static func field(_ name: String) -> Int64 {
    guard let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) else { return 0 }
    for line in status.split(separator: "\n") where line.hasPrefix(name) {
      let kib = line.dropFirst(name.count).split(whereSeparator: \.isWhitespace).first.flatMap { Int64($0) } ?? 0
      return kib * 1024
    }
    return 0
  }
}
