import Foundation
import GodwitModel

/// A shell command of a manifest: of its `stages`, or for the end of a run.
///
/// Its output goes to a stream as text, with control characters escaped. The run waits for the command itself, not for
/// a child that it left in the background and that holds its output open.
struct HookProcess {
  let command: String
  /// Empty for the current one.
  let folder: String
  let environment: [String: String]
  /// Takes what the command prints, whole lines at a time.
  let output: (String) -> Void
  /// The bytes on the command's standard input; nil for an empty one. The process must ignore SIGPIPE: a command need
  /// not read them.
  var input: [UInt8]?

  /// How often it is asked whether the command has ended while it prints nothing.
  private static let waitMilliseconds: Int32 = 20

  /// Runs the command to its end.
  ///
  /// - Parameter failed: The error for a cause: the command cannot be started, or does not end with status 0.
  func run(orThrow failed: (_ cause: String) -> GodwitError) throws {
    let problem: String?
    do { problem = try outcome() } catch let error as GodwitError { throw failed(error.cause ?? error.message) }
    if let problem { throw failed(problem) }
  }

  /// - Returns: nil when the command ended with status 0, else what it did.
  /// - Throws: `.inputOutput` when it cannot be started.
  private func outcome() throws -> String? {
    let pipe = try makePipe(waitsAtEnd: 1)
    defer { close(pipe[0]) }
    var feed: InputFeed?
    defer { feed?.finish() }
    let process: pid_t
    do {
      defer { close(pipe[1]) }
      let made = try makeInput()
      feed = made.feed
      defer { if let end = made.end { close(end) } }
      process = try spawn(input: made.end, output: pipe[1])
    }
    var status: Int32 = 0
    var isOver = false
    var lines = LineBuffer(write: output)
    while !isOver {
      feed?.write()
      var ready = [pollfd(fd: pipe[0], events: Int16(POLLIN), revents: 0)]
      if let feed, feed.isOpen { ready.append(pollfd(fd: feed.descriptor, events: Int16(POLLOUT), revents: 0)) }
      _ = poll(&ready, .init(ready.count), Self.waitMilliseconds)
      let ended = waitpid(process, &status, WNOHANG)
      isOver = ended == process || ended < 0 && errno != EINTR
      let isClosed = lines.read(pipe[0])
      guard isClosed, !isOver else { continue }
      // Without output to wait for, `poll` would return at once.
      if let feed, feed.isOpen {
        usleep(UInt32(Self.waitMilliseconds) * 1000)
      } else {
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        isOver = true
      }
    }
    lines.flush()
    let signal = status & 0x7f
    if signal != 0 { return "it was killed by signal \(signal)" }
    let code = (status >> 8) & 0xff
    return code == 0 ? nil : "it exited with status \(code)"
  }

  /// A pipe for the command's standard input: the end that it reads, and the feed of the other end. Both are nil
  /// without input.
  private func makeInput() throws -> (end: Int32?, feed: InputFeed?) {
    guard let input else { return (nil, nil) }
    let pipe = try makePipe(waitsAtEnd: 0)
    return (pipe[0], InputFeed(descriptor: pipe[1], rest: input[...]))
  }

  private func spawn(input: Int32?, output: Int32) throws -> pid_t {
    // The command starts with default signal actions, whatever this process blocks or ignores.
    let (process, code) = CLibrary.spawn(
      "/bin/sh", ["/bin/sh", "-c", command], environment: environment, folder: folder.isEmpty ? "." : folder,
      input: input, output: output,
      defaults: [SIGPIPE, SIGXFSZ])
    guard code == 0 else { throw failure(code) }
    return process
  }

  /// The end to read from and the end to write to. Only the command's own end waits.
  private func makePipe(waitsAtEnd own: Int) throws -> [Int32] {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw failure(errno) }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    _ = fcntl(ends[1 - own], F_SETFL, O_NONBLOCK)
    return ends
  }

  private func failure(_ code: Int32) -> GodwitError {
    GodwitError(.inputOutput, "cannot start '\(command)'", cause: String(cString: strerror(code)))
  }
}

/// Writes what a command gets, as far as the pipe takes it.
private struct InputFeed {
  let descriptor: Int32
  var rest: ArraySlice<UInt8>
  private(set) var isOpen = true

  /// Writes without waiting. The pipe is closed when all is written, or when nobody reads.
  mutating func write() {
    while isOpen {
      guard !rest.isEmpty else { return finish() }
      let count = rest.withUnsafeBytes { CLibrary.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        return
      } else if errno != EINTR {
        finish()
      }
    }
  }

  mutating func finish() {
    guard isOpen else { return }
    isOpen = false
    close(descriptor)
  }
}

/// Hands on text by lines, so that no character is cut in two.
private struct LineBuffer {
  let write: (String) -> Void
  private var bytes: [UInt8] = []
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)
  private static let limitBytes = 1 << 16

  init(write: @escaping (String) -> Void) { self.write = write }

  /// Takes what is there to be read; returns whether that was all there will ever be.
  mutating func read(_ descriptor: Int32) -> Bool {
    while true {
      let count = CLibrary.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return count == 0 || errno != EAGAIN }
      bytes += buffer.prefix(count)
      guard let end = bytes.lastIndex(of: UInt8(ascii: "\n")) ?? (bytes.count > Self.limitBytes ? bytes.count - 1 : nil)
      else { continue }
      write(String(decoding: bytes[...end], as: UTF8.self))
      bytes.removeSubrange(...end)
    }
  }

  mutating func flush() {
    guard !bytes.isEmpty else { return }
    write(String(decoding: bytes, as: UTF8.self) + "\n")
    bytes = []
  }
}
