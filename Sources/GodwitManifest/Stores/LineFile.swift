import GodwitModel

/// Reads the lines of a file one after the other, with bounded memory.
///
/// A line ends with a line feed; a carriage return before it does not belong to the line.
package final class LineFile {
  /// A line without its end.
  package struct Line {
    package var bytes: [UInt8]
    /// Whether a line feed ends it. Only the last one may lack it.
    package var isWhole: Bool
  }

  /// No line may be longer. A path has at most 4096 bytes, a message of an error a few kilobytes.
  package static let bytesMaximum = 1 << 20

  private let path: String
  private let descriptor: Int32
  private var buffer: [UInt8] = []
  private var place = 0
  private var isAtEnd = false

  /// - Throws: `.missingInput` (66) without the file, `.permission` (77), `.inputOutput` (74).
  package init(path: String) throws {
    self.path = path
    descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure(path, errno) }
    guard FileStatus(openFile: descriptor)?.isFile == true else {
      throw GodwitError(
        .missingInput, "cannot read '\(path)': expected a file, found a folder or a special file",
        remedy: "name a file")
    }
  }

  deinit { close(descriptor) }

  private static func failure(_ path: String, _ code: Int32) -> GodwitError {
    let kind: GodwitError.Code =
      switch code {
      case _ where GodwitError.codesOfNoFile.contains(code): .missingInput
      case EACCES, EPERM: .permission
      default: .inputOutput
      }
    return GodwitError(
      kind, "cannot read '\(path)': \(String(cString: strerror(code)))", remedy: "check the file and its permissions")
  }

  /// The next line; nil at the end.
  ///
  /// - Throws: `.dataWrong` (65) for a line of more than 1 MiB.
  package func next() throws -> Line? {
    var line: [UInt8] = []
    while true {
      if let end = buffer[place...].firstIndex(of: 0x0A) {
        line += buffer[place..<end]
        place = end + 1
        return Self.made(line, isWhole: true)
      }
      line += buffer[place...]
      (buffer, place) = ([], 0)
      guard line.count <= Self.bytesMaximum else {
        throw GodwitError(
          .dataWrong, "cannot read '\(path)': a line has more than \(Self.bytesMaximum) bytes",
          remedy: "check that this is the file you mean")
      }
      if try !fill() { return line.isEmpty ? nil : Self.made(line, isWhole: false) }
    }
  }

  private static func made(_ bytes: [UInt8], isWhole: Bool) -> Line {
    var bytes = bytes
    if bytes.last == 0x0D { bytes.removeLast() }
    return Line(bytes: bytes, isWhole: isWhole)
  }

  /// - Returns: false at the end of the file.
  private func fill() throws -> Bool {
    guard !isAtEnd else { return false }
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    var count = -1
    repeat {
      count = piece.withUnsafeMutableBytes { CLibrary.read(descriptor, $0.baseAddress, $0.count) }
    } while count < 0 && errno == EINTR
    guard count >= 0 else { throw Self.failure(path, errno) }
    isAtEnd = count == 0
    buffer = Array(piece.prefix(count))
    return count > 0
  }
}
