import GodwitModel
import Synchronization

/// Standard output or standard error, written at once and from any thread.
///
/// Text is escaped on its way (`TextEscape`), since what it says may come from anywhere. A reader that went away
/// (EPIPE) closes the stream in silence; another failure is kept in `failure`.
package final class TextStream: Sendable {
  private enum Target: Sendable {
    case descriptor(Int32)
    case memory
  }

  private struct State {
    var isClosed = false
    var failure: String?
    var isUsed = false
    var text = ""
    var log: LogSettings?
    /// Whether the last line is one that the next text replaces, such as a bar.
    var hasOpenLine = false
    /// The other stream of the same terminal.
    weak var neighbour: TextStream?
  }

  /// How diagnostics are written as JSON lines.
  struct LogSettings: Sendable {
    /// The job's name, once it is known.
    var job: String?
  }

  private let target: Target
  private let state = Mutex(State())

  private init(_ target: Target) { self.target = target }

  static let standardOutput = TextStream(.descriptor(STDOUT_FILENO))
  package static let standardError = TextStream(.descriptor(STDERR_FILENO))
  /// Keeps what is written, for tests.
  package static func memory() -> TextStream { TextStream(.memory) }

  /// Why the last write failed.
  var failure: String? { state.withLock { $0.failure } }
  /// Whether anything was written.
  var isUsed: Bool { state.withLock { $0.isUsed } }
  /// Whether further writing is useless.
  var isClosed: Bool { state.withLock { $0.isClosed } }
  /// The text that was written to a stream in memory.
  package var text: String { state.withLock { $0.text } }

  /// nil where diagnostics are text.
  var logSettings: LogSettings? {
    get { state.withLock { $0.log } }
    set { state.withLock { $0.log = newValue } }
  }

  var isTerminal: Bool {
    guard case .descriptor(let descriptor) = target else { return false }
    return isatty(descriptor) == 1
  }

  /// The columns of the terminal; 80 if they are not known.
  var columns: Int {
    guard case .descriptor(let descriptor) = target else { return 80 }
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Writes text with control characters made visible. Where lines are JSON, each line of it is the message of one.
  package func write(_ text: String) {
    guard logSettings != nil else { return put(TextEscape.escaped(text)) }
    for line in text.split(separator: "\n", omittingEmptySubsequences: true) { log("info", String(line)) }
  }

  /// Writes a line of JSON, in which a control character is an escape already.
  func write(record line: String) { put(TextEscape.escaped(line) + "\n") }

  /// Writes data that a program may read: unchanged, except on a terminal.
  func write(data text: String) { put(isTerminal ? TextEscape.escaped(text) : text) }

  /// Writes control sequences of our own.
  func write(control text: String) { put(text) }

  // MARK: The open line

  /// Says that what one of two streams writes clears the open line of the other.
  func join(_ other: TextStream) {
    guard other !== self, isTerminal == other.isTerminal else { return }
    state.withLock { $0.neighbour = other }
    other.state.withLock { $0.neighbour = self }
  }

  /// Replaces the open line by another one, of spans that are safe for a terminal.
  func redraw(_ text: String) { put(text, isOpen: true) }

  /// Clears the open line, if there is one.
  func clearLine() { state.withLock { if $0.hasOpenLine { write("", &$0) } } }

  private func put(_ text: String, isOpen: Bool = false) {
    state.withLock({ $0.neighbour })?.clearLine()
    state.withLock { state in
      write(text, &state)
      state.hasOpenLine = isOpen
    }
  }

  private func write(_ text: String, _ state: inout State) {
    guard !state.isClosed else { return }
    state.isUsed = true
    let text = (state.hasOpenLine ? "\r\u{1B}[K" : "") + text
    state.hasOpenLine = false
    switch target {
    case .memory: state.text += text
    case .descriptor(let descriptor): Self.write(Array(text.utf8), to: descriptor, &state)
    }
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32, _ state: inout State) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { CLibrary.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count < 0, errno == EINTR {
        continue
      } else if count < 0, errno == EAGAIN {
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, 1000)
      } else {
        state.isClosed = true
        if errno != EPIPE { state.failure = String(cString: strerror(errno)) }
        return
      }
    }
  }
}
