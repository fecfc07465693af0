import Foundation
import GodwitModel
import GodwitStore
import GodwitXcode
import TestSupport
import Testing

/// Damages bytes in the ways that parsers are wrong about: flips, cuts, repeats, foreign numbers.
///
/// The seed is printed with a failure; `GODWIT_SEED` takes it back, `GODWIT_RUNS` sets how often each file is damaged.
private struct Mutation {
  private var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  mutating func damage(_ original: [UInt8]) -> [UInt8] {
    var bytes = original
    for _ in 0..<Int.random(in: 1...6, using: &random) {
      guard !bytes.isEmpty else { break }
      let at = Int.random(in: bytes.indices, using: &random)
      let end = min(bytes.count, at + Int.random(in: 1...40, using: &random))
      switch Int.random(in: 0..<7, using: &random) {
      case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
      case 1: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      case 2: bytes.removeSubrange(at..<end)
      case 3: bytes.insert(contentsOf: bytes[at..<end], at: Int.random(in: bytes.indices, using: &random))
      case 4: bytes.removeSubrange(at...)
      case 5: bytes.replaceSubrange(at..<end, with: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
      default: bytes.insert(contentsOf: Array("&#x0;<![CDATA[-9223372036854775808".utf8), at: at)
      }
    }
    return bytes
  }
}

@Suite(.enabled(if: Corpus.isPresent, "the corpus is not beside this checkout"))
struct `Mutated corpus files` {
  private let seeds = testSeeds(1)

  private func paths(_ endings: [String]) -> [String] {
    guard let folder = Corpus.folder, let walk = FileManager.default.enumerator(atPath: folder.path) else { return [] }
    return walk.compactMap { $0 as? String }.filter { name in endings.contains(where: name.hasSuffix) }.sorted()
  }

  /// Reads every file once for each seed, damaged in another way each time; only `GodwitError` may come of it.
  private func attempt(_ name: String, _ original: [UInt8], _ read: ([UInt8]) throws -> Void) {
    for number in seeds {
      var mutation = Mutation(seed: number &* 31 &+ UInt64(original.count))
      do { try read(mutation.damage(original)) } catch let error as GodwitError {
        if error.code == .internalBug { Issue.record("\(name), GODWIT_SEED=\(number): \(error)") }
      } catch { Issue.record("\(name), GODWIT_SEED=\(number): \(error)") }
    }
  }

  @Test func `mutated model sources are read or refused`() throws {
    let names = paths([".xcdatamodel/contents"])
    #expect(names.count >= 160)
    for name in names {
      attempt(name, Array(try Data(contentsOf: URL(filePath: Corpus.path(name))))) { bytes in
        _ = try ModelContents.read(bytes, file: name, modelName: "M").versionHashes
      }
    }
  }

  @Test func `mutated compiled models are read or refused`() throws {
    let names = paths([".mom"])
    #expect(names.count >= 10)
    for name in names {
      attempt(name, Array(try Data(contentsOf: URL(filePath: Corpus.path(name))))) { bytes in
        _ = try ManagedObjectModel(compiled: bytes, name: "M").versionHashes
      }
    }
  }

  @Test func `mutated metadata and cached models are read or refused`() throws {
    for path in CorpusStores.paths {
      let connection = try StoreConnection.openStore(readingAt: path)
      if case .blob(let list)? = try connection.value("SELECT Z_PLIST FROM Z_METADATA") {
        attempt(path, list) { bytes in
          do { _ = try PropertyListValue(binary: bytes) } catch is PropertyListValue.Malformed {}
        }
      }
      guard let cache = try StoreModelCache.content(ofStoreAt: path) else { continue }
      attempt(path, cache) { bytes in _ = try CachedModel(modelCache: bytes, name: "M").model.versionHashes }
    }
  }

  /// A trap, a hang or unbounded memory ends a process, so these run in one of their own.
  @Test func `mutated files are inspected in bounded memory and time`() throws {
    let folder = try TemporaryFolder()
    let command = try #require(BuiltCommand.path)
    let names = paths([".mom", ".sqlite", ".xcdatamodel/contents"])
    for (index, name) in TestTier.sample(Array(names.enumerated()), each: 40) {
      let ending = name.hasSuffix("contents") ? "xcdatamodel" : (name as NSString).pathExtension
      let copy = folder.file("\(index).\(ending)")
      var file = copy
      if ending == "xcdatamodel" {
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
        file += "/contents"
      }
      var mutation = Mutation(seed: seeds[0] &+ UInt64(index))
      let original = Array(try Data(contentsOf: URL(filePath: Corpus.path(name))))
      try Data(mutation.damage(original)).write(to: URL(filePath: file))
      let process = Process()
      process.executableURL = URL(filePath: "/bin/bash")
      process.arguments = [
        "-c", "ulimit -v 1500000; ulimit -c 0; exec timeout -k 1 60 \"$0\" inspect \"$1\"", command, copy,
      ]
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.start()
      process.wait()
      #expect(
        [0, 65, 66, 69].contains(process.terminationStatus),
        "\(name), GODWIT_SEED=\(seeds[0]): \(process.terminationStatus)")
    }
  }
}
