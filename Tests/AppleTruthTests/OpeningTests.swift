#if canImport(CoreData)
  import CoreData
  import Foundation
  import GodwitJob
  import GodwitManifest
  import GodwitModel
  import GodwitSynthesis
  import Testing

  @testable import Godwit

  /// Core Data opens what Godwit writes.
  @Suite(.serialized) struct `Core Data opens stores of Godwit` {
    @Test func `the version hashes of every version are those of Core Data`() throws {
      let folder = try TruthFolder()
      var count = 0
      for bundle in try TruthBundle.all() {
        for version in try bundle.versions(in: folder) {
          let apple = try version.apple().entityVersionHashesByName
          let own = version.model.versionHashes.mapValues { Data($0.bytes) }
          #expect(own == apple, "\(bundle), \(version.name)")
          count += 1
        }
      }
      #expect(count > 40)
    }

    @Test(arguments: [false, true])
    func `a made store of every version is opened, read and added to`(isNasty: Bool) throws {
      let folder = try TruthFolder()
      var lines: [String] = []
      for bundle in try TruthBundle.all() {
        for version in try bundle.versions(in: folder) {
          let url = folder.file("\(UUID().uuidString).sqlite")
          try StoreSynthesis(model: version.model, rows: 60, seed: 7, isNasty: isNasty).write(to: url.path)
          let line = try Self.check(url, version.model, try version.apple())
          lines.append("\(bundle), \(version.name): \(line)")
        }
      }
      try TruthLog.write(lines, to: isNasty ? "opening-nasty" : "opening")
    }

    @Test func `the destination of every job is opened, read and added to`() throws {
      var lines: [String] = []
      for folder in try TruthBundle.children(of: TruthBundle.root.appending(path: "jobs")) {
        for file in try TruthBundle.children(of: folder) where file.pathExtension == "yaml" {
          guard !file.lastPathComponent.contains(".mapping."), folder.lastPathComponent != "ci" else { continue }
          let name = "\(folder.lastPathComponent)/\(file.lastPathComponent)"
          let scratch = try TruthFolder()
          let copy = scratch.file("job")
          try FileManager.default.copyItem(at: folder, to: copy)
          // Removes the results of an earlier run.
          try? FileManager.default.removeItem(at: copy.appending(path: "out"))
          let job = try JobLoader(contentsOf: copy.appending(path: file.lastPathComponent)).job()
          let manager = MigrationManager(job)
          guard try manager.plan().missingPolicies.isEmpty else {
            lines.append("\(name): left out, its policy is not in this process")
            continue
          }
          try manager.run()
          let bundles = try TruthBundle.children(of: folder).filter { $0.pathExtension == "xcdatamodeld" }
          let bundle = try TruthBundle(try #require(bundles.first))
          let versions = try bundle.versions(in: scratch)
          let version = try #require(versions.first { $0.name == job.destinationModel.name })
          let line = try Self.check(
            job.destination, version.model, try version.apple(), type: job.destinationType)
          lines.append("\(name): \(line)")
        }
      }
      try TruthLog.write(lines, to: "jobs")
    }

    /// Opens a store, compares what Core Data and Godwit read, saves one more object, and reads again.
    private static func check(
      _ url: URL, _ model: ManagedObjectModel, _ apple: NSManagedObjectModel, type: StoreType = .sqlite
    ) throws -> String {
      let store = try TruthStore(url, model: apple, type: type)
      let content = try store.content()
      if type == .sqlite {
        let own = try [String: TruthObject].read(url, model: model)
        let differences = own.differences(from: content)
        #expect(differences.isEmpty, "\(url.lastPathComponent), \(model.name): \(differences)")
      }
      let saved = try store.saveCopy()
      try store.close()
      #expect(content.isEmpty || saved.entity != nil, "no copy of any object can be saved: \(saved.reasons)")
      if type == .sqlite, saved.entity != nil {
        // Godwit reads the objects that Core Data wrote.
        #expect(try [String: TruthObject].read(url, model: model).count == content.count + 1)
      }
      return "\(content.count) objects, saved one of \(saved.entity ?? "nothing")"
    }
  }
#endif
