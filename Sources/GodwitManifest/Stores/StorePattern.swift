import GodwitModel

/// A pattern for the paths of many stores, such as `stores/*.sqlite` or `stores/**/*.sqlite`.
///
/// `**` as a whole name stands for any number of folders, none included. Matches are files, and links to files: folders
/// are not. Work folders (`NAME.godwit`) are never entered. `**` follows no links, so that no loop of links is followed.
package struct StorePattern: Sendable, Hashable {
  private enum Part: Sendable, Hashable {
    case folders
    case literal(String)
    case name(NamePattern)
  }

  /// A file that the pattern matches.
  package struct Match: Sendable, Hashable {
    package var path: String
    /// The folder below the fixed part of the pattern; empty for that part itself.
    package var folder: String
    /// The file's name.
    package var name: String
    /// The line of the list that names it, from 1; nil for a match of a pattern.
    package var line: Int?
  }

  /// The folder before the first name with a wildcard, with a slash at its end; empty for the current folder.
  package let root: String
  private let parts: [Part]
  private let text: String

  /// Whether a path has a wildcard.
  package static func isPattern(_ text: String) -> Bool {
    text.split(separator: "/").contains { NamePattern($0).hasWildcards }
  }

  /// Whether a path has a wildcard that no name of a file is likely to have: `*` or `?`.
  static func isOpenPattern(_ text: String) -> Bool {
    text.split(separator: "/").contains { NamePattern($0).isOpen }
  }

  /// - Parameter base: The folder in front of the pattern, with a slash at its end. Wildcards in its name stand for
  ///   themselves.
  package init(_ text: String, in base: String = "") {
    self.text = base + text
    let names = text.split(separator: "/")
    let count = names.prefix { !NamePattern($0).hasWildcards }.count
    let fixed = names.prefix(count).joined(separator: "/")
    root = base + (text.hasPrefix("/") ? "/" : "") + (fixed.isEmpty ? "" : fixed + "/")
    var parts: [Part] = []
    for name in names.dropFirst(count) {
      if name == "**" {
        if parts.last != .folders { parts.append(.folders) }
      } else {
        let pattern = NamePattern(name)
        parts.append(pattern.hasWildcards ? .name(pattern) : .literal(String(name)))
      }
    }
    // A store is a file, never a folder.
    if parts.last == .folders { parts.append(.name(NamePattern("*"))) }
    self.parts = parts
  }

  /// Whether a path below the root, in its names, matches.
  func matches(_ names: [String]) -> Bool { Self.matches(names[...], parts[...]) }

  private static func matches(_ names: ArraySlice<String>, _ parts: ArraySlice<Part>) -> Bool {
    guard let part = parts.first, let name = names.first else { return parts.isEmpty && names.isEmpty }
    switch part {
    case .folders:
      if matches(names, parts.dropFirst()) { return true }
      return names.count > 1 && isEntered(name) && matches(names.dropFirst(), parts)
    case .literal(let own): return own == name && matches(names.dropFirst(), parts.dropFirst())
    case .name(let pattern):
      guard pattern.matches(name), names.count == 1 || !isWorkFolder(name) else { return false }
      return matches(names.dropFirst(), parts.dropFirst())
    }
  }

  private static func isWorkFolder(_ name: String) -> Bool { name.hasSuffix(".godwit") }
  private static func isEntered(_ name: String) -> Bool { !name.hasPrefix(".") && !isWorkFolder(name) }

  // MARK: Looking

  /// The files that match, by their paths.
  ///
  /// - Parameters:
  ///   - isStopped: Asked for each of them.
  ///   - unreadable: Called once with each path that cannot be looked at, and why. nil throws that. Where the folder before
  ///     the first wildcard cannot be looked at, that is always thrown: nothing is known then.
  /// - Throws: 77 for a folder that may not be read, 74 when reading one fails, 66 for a match whose name is not UTF-8,
  ///   75 when it is stopped.
  package func files(
    isStopped: () -> Bool = { false }, unreadable: ((String, GodwitError) throws -> Void)? = nil
  ) throws -> [Match] {
    // Two ways may lead to one file. Two names that differ in their bytes alone are two files.
    var matches: [[UInt8]: Match] = [:]
    try forEachMatch(isStopped: isStopped, unreadable: unreadable) { matches[Array($0.path.utf8)] = $0 }
    return matches.values.sorted { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
  }

  /// Calls `body` with each file that `files` has, in no order, and more than once with a file to which several ways
  /// lead.
  func forEachMatch(
    isStopped: () -> Bool, unreadable: ((String, GodwitError) throws -> Void)?, _ body: (Match) throws -> Void
  ) throws {
    var refused: Set<[UInt8]> = []
    let refuse = unreadable.map { unreadable in
      { (path: String, error: GodwitError) in
        guard path != root else { throw error }
        let path = path.hasSuffix("/") ? String(path.dropLast()) : path
        if refused.insert(Array(path.utf8)).inserted { try unreadable(path, error) }
      }
    }
    try forEachFile(unreadable: refuse) { match in
      guard !isStopped() else {
        throw GodwitError(
          .stopped, "stopped while the stores of the pattern '\(text)' were looked for", remedy: "run the same command",
          safe: "nothing was written", stopReason: .requested)
      }
      try body(match)
    }
  }

  /// Calls `body` with each file that matches, in no order, and more than once with a file to which several ways lead.
  /// It holds no more than the open folders on the way to one file.
  ///
  /// - Parameter unreadable: Called with a path that cannot be looked at, and why; it may throw that. nil throws it. A
  ///   fault of this process, and not of a path, is always thrown.
  /// - Throws: The errors of `files` and of `body`.
  package func forEachFile(
    unreadable: ((String, GodwitError) throws -> Void)? = nil, _ body: (Match) throws -> Void
  ) throws {
    let search = Search(pattern: text) { path, error in
      guard let unreadable else { throw error }
      try unreadable(path, error)
    }
    try search.look(in: root, folder: "", parts[...], body)
  }

  private struct Search {
    let pattern: String
    /// Takes what cannot be looked at.
    let refuse: (String, GodwitError) throws -> Void

    /// - Parameter path: The folder with a slash at its end; empty for the current one.
    func look(in path: String, folder: String, _ parts: ArraySlice<Part>, _ body: (Match) throws -> Void) throws {
      guard let part = parts.first else { return }
      let rest = parts.dropFirst()
      switch part {
      case .folders:
        try look(in: path, folder: folder, rest, body)
        try forEachName(of: path, .folders, where: StorePattern.isEntered) { name, known in
          guard try known == .folder || known == nil && kind(of: path + name, followingLinks: false) == .folder
          else { return }
          try look(in: path + name + "/", folder: Self.join(folder, name), parts, body)
        }
      case .literal(let name): try take(name, in: path, folder, rest, body)
      case .name(let pattern):
        try forEachName(of: path, rest.isEmpty ? .files : .foldersAndLinks, where: pattern.matches) { name, _ in
          if !rest.isEmpty, StorePattern.isWorkFolder(name) { return }
          try take(name, in: path, folder, rest, body)
        }
      }
    }

    private func take(
      _ name: String, in path: String, _ folder: String, _ rest: ArraySlice<Part>, _ body: (Match) throws -> Void
    ) throws {
      let kind = try kind(of: path + name, followingLinks: true)
      guard rest.isEmpty else {
        if kind == .folder { try look(in: path + name + "/", folder: Self.join(folder, name), rest, body) }
        return
      }
      // A link that leads nowhere is a store that its job will miss.
      let isThere = try kind != nil || self.kind(of: path + name, followingLinks: false) != nil
      guard isThere, kind != .folder else { return }
      try body(Match(path: path + name, folder: folder, name: name))
    }

    private static func join(_ folder: String, _ name: String) -> String { folder.isEmpty ? name : folder + "/" + name }

    /// nil when nothing is there.
    private func kind(of path: String, followingLinks: Bool) throws -> FileStatus.Kind? {
      guard let status = followingLinks ? FileStatus(following: path) : FileStatus(named: path) else {
        let code = errno
        if code == ENOENT || code == ENOTDIR || code == ELOOP && followingLinks { return nil }
        try report(path, code)
        return nil
      }
      return status.kind
    }

    /// The kind of entry that a name is looked up for.
    private enum Wanted {
      case folders
      case foldersAndLinks
      case files
    }

    /// Calls `body` with the names in a folder, in no order, and what the folder says of them; with none where there is
    /// no such folder.
    ///
    /// A name that is not UTF-8 is refused if it leads to what is looked for, and passed by else.
    private func forEachName(
      of path: String, _ wanted: Wanted, where isWanted: (String) -> Bool,
      _ body: (String, FileStatus.Kind?) throws -> Void
    ) throws {
      guard let folder = opendir(path.isEmpty ? "." : path) else {
        let code = errno
        if GodwitError.codesOfNoFile.contains(code) { return }
        return try report(path, code)
      }
      defer { closedir(folder) }
      while true {
        errno = 0
        guard let entry = readdir(folder) else {
          let code = errno
          if code != 0 { try report(path, code) }
          return
        }
        let (name, isWhole) = withUnsafePointer(to: &entry.pointee.d_name) { bytes in
          bytes.withMemoryRebound(to: CChar.self, capacity: 1) {
            (String(cString: $0), String(validatingCString: $0) != nil)
          }
        }
        guard name != ".", name != "..", isWanted(name) else { continue }
        guard isWhole else {
          let (told, isOne) = withUnsafePointer(to: &entry.pointee.d_name) { bytes in
            bytes.withMemoryRebound(to: CChar.self, capacity: 1) {
              (Self.escaped($0), Self.isOne(wanted, $0, in: dirfd(folder)))
            }
          }
          guard isOne else { continue }
          try refuse(
            path + told,
            GodwitError(
              .missingInput, "cannot use the file '\(path)\(told)': its name is not UTF-8", cause: because,
              remedy: "rename the file, or write a pattern that does not match it", safe: "nothing was written"))
          continue
        }
        try body(name, FileStatus.Kind(entry.pointee))
      }
    }

    /// Whether a name leads to the wanted kind of entry; true if it cannot be looked at.
    private static func isOne(_ wanted: Wanted, _ name: UnsafePointer<CChar>, in folder: Int32) -> Bool {
      let status = FileStatus(name, inOpenFolder: folder, followingLinks: wanted != .folders)
      return status.map { $0.isFolder == (wanted != .files) } ?? true
    }

    /// A name with each byte that is not UTF-8 as `\xE4`: two such names stay two.
    private static func escaped(_ name: UnsafePointer<CChar>) -> String {
      var text = ""
      var rest = Array(UnsafeBufferPointer(start: name, count: strlen(name))).map { UInt8(bitPattern: $0) }[...]
      while !rest.isEmpty {
        // A scalar has four bytes at most.
        let whole = (1...min(4, rest.count)).lazy.compactMap { String(validating: rest.prefix($0), as: UTF8.self) }
        if let scalar = whole.first {
          text += scalar
          rest = rest.dropFirst(scalar.utf8.count)
        } else {
          let digits = String(rest.removeFirst(), radix: 16, uppercase: true)
          text += "\\x" + (digits.count < 2 ? "0" : "") + digits
        }
      }
      return text
    }

    private func report(_ path: String, _ code: Int32) throws {
      // Every other path would fail too.
      if [EMFILE, ENFILE, ENOMEM].contains(code) { throw failure(path, code) }
      try refuse(path, failure(path, code))
    }

    private var because: String { "the pattern '\(pattern)' leads there" }

    private func failure(_ path: String, _ code: Int32) -> GodwitError {
      let isForbidden = [EACCES, EPERM].contains(code)
      return GodwitError(
        isForbidden ? .permission : .inputOutput, "cannot look at '\(path.isEmpty ? "." : path)'",
        cause: "\(String(cString: strerror(code))); \(because)",
        remedy: isForbidden
          ? "give the user of this process the right to read it, or write a pattern that does not lead there"
          : "run the same command again", safe: "nothing was written")
    }
  }
}
