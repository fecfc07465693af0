#if canImport(CoreData)
  import CoreData
  import Foundation
  import GodwitModel
  import GodwitXcode

  /// A model bundle of this repository, as Godwit reads it and as Apple's compiler does.
  struct TruthBundle: CustomStringConvertible {
    let url: URL
    let bundle: ModelBundle

    var description: String { url.deletingPathExtension().lastPathComponent }

    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()

    init(_ url: URL) throws {
      self.url = url
      bundle = try ModelBundle(contentsOf: url)
    }

    /// The made-up applications of `Tests/Fixtures`, and the applications of `jobs`.
    static func all() throws -> [TruthBundle] {
      let folders = [root.appending(path: "Tests/Fixtures")] + (try children(of: root.appending(path: "jobs")))
      return try folders.flatMap { try children(of: $0) }.filter { $0.pathExtension == "xcdatamodeld" }
        .map { try TruthBundle($0) }
    }

    static func children(of folder: URL) throws -> [URL] {
      var isFolder: ObjCBool = false
      guard FileManager.default.fileExists(atPath: folder.path, isDirectory: &isFolder), isFolder.boolValue else {
        return []
      }
      return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        .sorted { $0.path < $1.path }
    }

    /// The versions that both Godwit and Apple's compiler can read, with the models of both, in the order of the bundle.
    ///
    /// `jobs/travel` has two versions that nobody can read.
    func versions(in folder: TruthFolder) throws -> [TruthVersion] {
      try bundle.versions.compactMap { name in
        guard let model = try? bundle.model(named: name) else { return nil }
        let source = url.appending(path: name + ".xcdatamodel")
        return TruthVersion(name: name, model: model, compiled: try Self.compile(source, in: folder))
      }
    }

    /// Compiles one version with Apple's compiler.
    static func compile(_ source: URL, in folder: TruthFolder) throws -> URL {
      let compiled = folder.file("\(UUID().uuidString).mom")
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/xcrun")
      process.arguments = ["momc", source.path, compiled.path]
      let output = Pipe()
      process.standardOutput = output
      process.standardError = output
      try process.run()
      let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
      process.waitUntilExit()
      guard process.terminationStatus == 0, FileManager.default.fileExists(atPath: compiled.path) else {
        throw TruthError("momc cannot compile '\(source.path)': \(text)")
      }
      return compiled
    }
  }

  struct TruthVersion {
    let name: String
    let model: ManagedObjectModel
    let compiled: URL

    /// A model of its own for each store, since a coordinator freezes its model.
    ///
    /// The classes that the models name are not in this process.
    func apple() throws -> NSManagedObjectModel {
      guard let model = NSManagedObjectModel(contentsOf: compiled) else {
        throw TruthError("Core Data cannot read the compiled version '\(name)'")
      }
      for entity in model.entities {
        entity.managedObjectClassName = "NSManagedObject"
        for attribute in entity.attributesByName.values where attribute.attributeType == .transformableAttributeType {
          if let transformer = attribute.valueTransformerName { PlainBytes.register(transformer) }
        }
      }
      return model
    }
  }

  struct TruthError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  /// Stands for the value transformers of applications, which are not in this process: the bytes as they are.
  private final class PlainBytes: ValueTransformer {
    override func transformedValue(_ value: Any?) -> Any? { value }
    override func reverseTransformedValue(_ value: Any?) -> Any? { value }

    static func register(_ name: String) {
      let name = NSValueTransformerName(name)
      guard ValueTransformer(forName: name) == nil else { return }
      ValueTransformer.setValueTransformer(PlainBytes(), forName: name)
    }
  }
#endif
