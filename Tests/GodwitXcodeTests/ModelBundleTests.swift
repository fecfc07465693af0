import Foundation
import GodwitModel
import GodwitXcode
import TestSupport
import Testing

/// A `.xcdatamodeld` in a folder of its own; each version has one entity, named after it.
private struct Bundle {
  let folder: TemporaryFolder
  var path: String { folder.file("People.xcdatamodeld") }

  init(_ versions: [String], current: String?) throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    for version in versions {
      let model = try ManagedObjectModel(name: version, entities: [EntityDescription(name: "In " + version)])
      try FileManager.default.createDirectory(
        atPath: "\(path)/\(version).xcdatamodel", withIntermediateDirectories: true)
      try model.xcodeContents.write(
        toFile: "\(path)/\(version).xcdatamodel/contents", atomically: false, encoding: .utf8)
    }
    if let current {
      try "<plist version=\"1.0\"><dict>\(current)</dict></plist>".write(
        toFile: path + "/.xccurrentversion", atomically: false, encoding: .utf8)
    }
  }

  static func naming(_ version: String) -> String {
    "<key>_XCCurrentVersionName</key><string>\(version).xcdatamodel</string>"
  }
}

private func failure(_ work: () throws -> ManagedObjectModel) -> GodwitError? {
  do {
    _ = try work()
    return nil
  } catch { return error as? GodwitError }
}

@Test func `model versions sort in natural order`() throws {
  let bundle = try Bundle(["P 10", "P 2", "P", "P 1.5"], current: Bundle.naming("P 2"))
  let people = try ModelBundle(contentsOf: bundle.path + "/")
  #expect(people.versions == ["P", "P 1.5", "P 2", "P 10"])
  #expect(people.currentVersion == "P 2")
  #expect(try people.models().map(\.name) == people.versions)
}

@Test func `a model is found by path, by current version and by name`() throws {
  let bundle = try Bundle(["P", "P 2"], current: Bundle.naming("P"))
  #expect(try ManagedObjectModel(contentsOf: bundle.path).entityNames == ["In P"])
  #expect(try ManagedObjectModel(contentsOf: bundle.path, version: "P 2").entityNames == ["In P 2"])
  #expect(try ManagedObjectModel(contentsOf: bundle.path + "#P 2").entityNames == ["In P 2"])
  #expect(try ManagedObjectModel(contentsOf: bundle.path + "/P 2.xcdatamodel").name == "P 2")
}

@Test func `the only version of a bundle is current`() throws {
  for current in [nil, ""] {
    let bundle = try Bundle(["Only"], current: current)
    #expect(try ManagedObjectModel(contentsOf: bundle.path).name == "Only")
  }
}

@Test func `a bundle without a current version is an error that lists the versions`() throws {
  let bundle = try Bundle(["P", "P 2"], current: "")
  let error = failure { try ManagedObjectModel(contentsOf: bundle.path) }
  #expect(error?.code == .missingInput)
  #expect(error?.message.hasPrefix("cannot tell the current version of model") == true)
  #expect(error?.cause == "it has the versions 'P', 'P 2'")
  #expect(error?.remedy == "set the current version in Xcode, or give the version as '\(bundle.path)#P 2'")
}

@Test func `an unknown version is refused with the nearest name`() throws {
  let bundle = try Bundle(["People 1", "People 2"], current: nil)
  let error = failure { try ManagedObjectModel(contentsOf: bundle.path + "#Peple 2") }
  #expect(error?.code == .missingInput)
  #expect(error?.message.hasSuffix("(did you mean 'People 2'?)") == true)
  #expect(error?.cause == "it has the versions 'People 1', 'People 2'")
}

@Test func `a damaged current version marker is an error`() throws {
  for current in ["<key>", "<key>_XCCurrentVersionName</key><integer>1</integer>"] {
    let bundle = try Bundle(["P", "P 2"], current: current)
    let error = failure { try ManagedObjectModel(contentsOf: bundle.path) }
    #expect(error?.code == .missingInput)
    #expect(error?.message.contains(".xccurrentversion") == true)
  }
  let bundle = try Bundle(["P", "P 2"], current: Bundle.naming("P 3"))
  #expect(failure { try ManagedObjectModel(contentsOf: bundle.path) }?.message.contains("version 'P 3'") == true)
}

@Test func `a path without a model is refused`() throws {
  let folder = try TemporaryFolder()
  for name in ["a.xcdatamodel", "b.xcdatamodeld", "f.momd", "e.xcdatamodel/contents", "x.xcdatamodeld/P.xcdatamodel"] {
    try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
  }
  for name in ["c.txt", "d.xcdatamodel"] {
    try "text".write(toFile: folder.file(name), atomically: false, encoding: .utf8)
  }
  let cases = [
    ("missing.xcdatamodeld", "cannot find model"), ("missing.xcdatamodel", "cannot find model"),
    ("missing", "cannot find model"), ("a.xcdatamodel", "cannot find model contents"),
    ("b.xcdatamodeld", "expected .xcdatamodel folders, found none"), ("c.txt", "found another name"),
    ("d.xcdatamodel", "expected a folder with a contents file"), ("e.xcdatamodel", "expected a file, found something"),
    ("x.xcdatamodeld", "cannot find model contents"),
    ("a.mom", "cannot find model"), ("a.momd", "cannot find model"), ("f.momd", "expected .mom files, found none"),
    ("a.omo", "found its optimised form, an .omo"),
    ("a.cdm", "expected a model, found a compiled mapping model"),
  ]
  for (name, message) in cases {
    let error = failure { try ManagedObjectModel(contentsOf: folder.file(name)) }
    #expect(error?.code == .missingInput, "\(name)")
    #expect(error?.message.contains(message) == true, "\(name): \(error?.message ?? "-")")
  }
}

@Test(.enabled(if: getuid() != 0, "root may read everything"))
func `a model without read permission is 77`() throws {
  let bundle = try Bundle(["P"], current: nil)
  let contents = bundle.path + "/P.xcdatamodel/contents"
  try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: contents)
  #expect(failure { try ManagedObjectModel(contentsOf: bundle.path) }?.code == .permission)
}

@Test func `a model reference takes the version after the last number sign`() {
  #expect(
    ModelReference(parsing: "a#b/P.xcdatamodeld#P 3") == ModelReference(path: "a#b/P.xcdatamodeld", version: "P 3"))
  #expect(ModelReference(parsing: "P.xcdatamodeld") == ModelReference(path: "P.xcdatamodeld"))
  #expect(ModelReference(parsing: "P.xcdatamodeld#") == ModelReference(path: "P.xcdatamodeld"))
  #expect(ModelReference(path: "P", version: "1").description == "P#1")
}

@Test func `kinds of Xcode files are recognised by name`() {
  let kinds: [(String, XcodeFileKind?)] = [
    ("a.xcdatamodel", .model), ("a.xcdatamodeld/", .modelBundle), ("a.mom", .compiledModel),
    ("a.momd", .compiledModelBundle), ("a.omo", .optimisedModel), ("a.xcmappingmodel", .mappingModel),
    ("a.cdm", .compiledMappingModel), ("a.sqlite", nil), ("mom", nil), (".mom", nil), ("", nil),
  ]
  for (path, kind) in kinds { #expect(XcodeFileKind.identify(path) == kind, "\(path)") }
}

@Test func `a model is found inside a folder, and by the file inside it`() throws {
  let bundle = try Bundle(["P", "P 2"], current: Bundle.naming("P"))
  let inner = bundle.folder.file("App.framework/Versions/A/Resources")
  try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: true)
  try FileManager.default.moveItem(atPath: bundle.path, toPath: inner + "/People.xcdatamodeld")
  // A link back up must not make the search endless, nor the model two.
  try FileManager.default.createSymbolicLink(
    atPath: bundle.folder.file("App.framework/Current"), withDestinationPath: bundle.folder.path)
  #expect(try ModelBundle(contentsOf: bundle.folder.path).path.hasSuffix("/Resources/People.xcdatamodeld"))
  #expect(try ManagedObjectModel(contentsOf: bundle.folder.path + "/").name == "P")
  #expect(try ManagedObjectModel(contentsOf: bundle.folder.path + "#P 2").name == "P 2")
  let contents = inner + "/People.xcdatamodeld/P 2.xcdatamodel/contents"
  #expect(XcodeFileKind.identify(contents) == .model)
  #expect(try ManagedObjectModel(contentsOf: contents).name == "P 2")

  try FileManager.default.copyItem(atPath: contents, toPath: bundle.folder.file("contents"))
  #expect(try ManagedObjectModel(contentsOf: bundle.folder.file("contents")).entityNames == ["In P 2"])
}

@Test func `several models in a folder are named, as is a folder without any`() throws {
  let bundle = try Bundle(["P"], current: nil)
  try FileManager.default.copyItem(atPath: bundle.path, toPath: bundle.folder.file("Other.xcdatamodeld"))
  let several = failure { try ManagedObjectModel(contentsOf: bundle.folder.path) }
  #expect(several?.code == .missingInput)
  #expect(several?.message.hasSuffix("holds 2") == true)
  #expect(several?.cause?.contains("Other.xcdatamodeld', '") == true)
  #expect(several?.remedy?.hasSuffix("/Other.xcdatamodeld'") == true)
  let empty = try TemporaryFolder()
  #expect(
    failure { try ManagedObjectModel(contentsOf: empty.path) }?.message
      == "cannot find a model in the folder '\(empty.path)'")
}

@Test func `a Git LFS pointer is named for what it is`() throws {
  let bundle = try Bundle(["P"], current: nil)
  let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
  for file in [bundle.path + "/P.xcdatamodel/contents", bundle.folder.file("P.mom")] {
    try pointer.write(toFile: file, atomically: false, encoding: .utf8)
    let error = failure { try ManagedObjectModel(contentsOf: file) }
    #expect(error?.message.hasSuffix("it is a Git LFS pointer, not the file itself") == true)
    #expect(error?.remedy == "fetch the file with `git lfs pull`")
  }
}
