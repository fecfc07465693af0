import Foundation

extension BadInput {
  static let usage: [BadInput] = [
    .init("unknown verb", ["rnu", "job.yaml"], 64, ["unknown verb 'rnu'", "'run'"]) { _ in },
    .init("help of an unknown verb", ["help", "plna"], 64, ["'plna'", "'plan'"]) { _ in },
    .init("help of an unknown verb of a group", ["help", "model", "hush"], 64, ["'hush'", "'hash'"]) { _ in },
    .init("missing argument", ["run"], 64, ["<JOB.yaml>"]) { _ in },
    .init("two manifests", ["run", "job.yaml", "job.yaml"], 64, ["job.yaml"]) { _ in },
    .init("time box without unit", ["run", "job.yaml", "--max-duration", "10"], 64, ["--max-duration", "10"]) { _ in },
    .init("time box in words", ["run", "job.yaml", "--max-duration", "soon"], 64, ["--max-duration", "soon"]) { _ in },
    .init("time box of no time", ["run", "job.yaml", "--max-duration", "0s"], 64, ["--max-duration", "0s"]) { _ in },
    .init("unknown option", ["plan", "job.yaml", "--formt", "json"], 64, ["--formt"]) { _ in },
    .init("unknown kind of progress", ["run", "job.yaml", "--progress", "loud"], 64, ["loud"]) { _ in },
  ]

  static let manifests: [BadInput] = [
    .init("unknown key", 78, ["job.yaml:10:1: ", "unknown key 'memroy'", "did you mean 'memory'?"]) {
      try $0.append("job.yaml", "memroy: 32 MiB\n")
    },
    .init("unknown key in a map", 78, ["job.yaml:8:3: ", "'row'", "did you mean 'rows'?"]) {
      try $0.edit("job.yaml", "  rows: 100", "  row: 100")
    },
    .init("key that stands twice", 78, ["job.yaml:9:1: ", "'memory'", "twice"]) {
      try $0.append("job.yaml", "memory: 64 MiB\n")
    },
    .init("tab indentation", 78, ["job.yaml:8:1: ", "tab"]) {
      try $0.edit("job.yaml", "  rows: 100", "\trows: 100")
    },
    .init("version of another format", 78, ["job.yaml:1:9: ", "version 1"]) {
      try $0.edit("job.yaml", "godwit: 1", "godwit: 2")
    },
    .init("missing version", 78, ["job.yaml:1:", "'godwit'"]) { try $0.edit("job.yaml", "godwit: 1\n", "") },
    .init("no source named", 78, ["job.yaml:1:1: ", "'source'"]) {
      try $0.edit("job.yaml", "source: library.sqlite\n", "")
    },
    .init("memory under the minimum", 78, ["job.yaml:9:9: ", "16 MiB"]) {
      try $0.edit("job.yaml", "memory: 32 MiB", "memory: 1 MiB")
    },
    .init("memory without a unit", 78, ["job.yaml:9:9: ", "write `memory: 512 MiB`"]) {
      try $0.edit("job.yaml", "memory: 32 MiB", "memory: 512")
    },
    .init("memory in words", 78, ["job.yaml:9:9: ", "'memory'", "64 MiB"]) {
      try $0.edit("job.yaml", "memory: 32 MiB", "memory: lots")
    },
    .init("memory beyond any machine", 78, ["job.yaml:9:9: ", "'memory'"]) {
      try $0.edit("job.yaml", "memory: 32 MiB", "memory: 99999999999999999999 GiB")
    },
    .init("negative rows", 78, ["job.yaml:8:9: ", "'rows'"]) { try $0.edit("job.yaml", "rows: 100", "rows: -1") },
    .init("rows beyond an integer", 78, ["job.yaml:8:9: ", "'rows'"]) {
      try $0.edit("job.yaml", "rows: 100", "rows: 99999999999999999999")
    },
    .init("list where a path belongs", 78, ["job.yaml:2:9: ", "'source'", "a list"]) {
      try $0.edit("job.yaml", "source: library.sqlite", "source: [library.sqlite]")
    },
    .init("unclosed bracket", 78, ["job.yaml:"]) { try $0.append("job.yaml", "models: [\n") },
    .init("unknown anchor", 78, ["job.yaml:9:"]) { try $0.edit("job.yaml", "memory: 32 MiB", "memory: *none") },
    .init("empty manifest", 78, ["job.yaml:1:1: ", "empty"]) { try $0.write("job.yaml", "") },
    .init("manifest of comments", 78, ["job.yaml:1:1: "]) { try $0.write("job.yaml", "# later\n") },
    .init(
      "manifest is a mapping file", ["run", "library.mapping.yaml"], 78,
      ["library.mapping.yaml:1:1: ", "found a mapping file", "mappings: library.mapping.yaml"]
    ) {
      _ in
    },
    .init("manifest is a folder", 66, ["'job.yaml'", "a directory"]) {
      try $0.remove("job.yaml")
      try $0.makeFolder("job.yaml")
    },
    .init("manifest of random bytes", 78, ["job.yaml:1:"]) { try $0.writeNoise("job.yaml") },
    .init(
      "manifest is the store", ["run", "library.sqlite"], 78,
      ["library.sqlite:1:", "cannot read job manifest", "a SQLite database", "models: App.xcdatamodeld"]
    ) {
      _ in
    },
    .init("missing manifest", ["run", "jab.yaml"], 66, ["'jab.yaml'"]) { _ in },
    .init("missing manifest to discard", ["discard", "jab.yaml"], 66, ["'jab.yaml'"]) { _ in },
    .init("broken manifest to show", ["status", "job.yaml"], 78, ["job.yaml:9:9: "]) {
      try $0.edit("job.yaml", "memory: 32 MiB", "memory: lots")
    },
    .init("broken manifest to discard", ["discard", "job.yaml"], 78, ["job.yaml:10:1: "]) {
      try $0.append("job.yaml", "nosuch: 1\n")
    },
    .init("migration in place with the old name taken", 73, ["library~.sqlite' exists", "keep-old: false"]) {
      try $0.edit("job.yaml", "destination: out/library.sqlite", "destination: {existing: in-place}")
      try $0.write("library~.sqlite", "x")
    },
    .init("appending to a store of another model", 73, ["its entity 'Book' is not that of model 'Library 2'"]) {
      try $0.edit("job.yaml", "out/library.sqlite", "{path: out/library.sqlite, existing: append}")
      try $0.makeFolder("out")
      try $0.write("out/library.sqlite", try Data(contentsOf: URL(filePath: $0.file("library.sqlite"))))
    },
    .init("appending to a file that is not a store", 73, ["cannot append to", "it is not a Core Data store"]) {
      try $0.edit("job.yaml", "out/library.sqlite", "{path: out/library.sqlite, existing: append}")
      try $0.makeFolder("out")
      try $0.writeNoise("out/library.sqlite")
    },
    .init("appending to an XML store", 78, ["cannot append to", "only a SQLite store"]) {
      try $0.edit(
        "job.yaml", "out/library.sqlite", "{path: out/library.sqlite, existing: append}\ndestination-type: xml")
    },
    .init("mappings that are nowhere", 69, ["job.yaml:6:1: ", "no path leads from", "cannot be inferred"]) {
      try $0.makeFolder("empty")
      try $0.edit("job.yaml", "mappings: library.mapping.yaml", "mappings: auto\nmapping-search: empty")
    },
    .init("mappings looked for in a folder that is missing", 66, ["job.yaml:7:", "'nowhere'", "'mapping-search'"]) {
      try $0.edit("job.yaml", "mappings: library.mapping.yaml", "mappings: auto\nmapping-search: nowhere")
    },
    .init("names taken from a store that is missing", 66, ["job.yaml:10:16: ", "nowhere.sqlite"]) {
      try $0.append("job.yaml", "layout: {from: nowhere.sqlite}\n")
    },
    .init(
      "names taken from a store of another version", 78, ["job.yaml:10:16: ", "not a store of version 'Library 2'"]
    ) {
      try $0.append("job.yaml", "layout: {from: library.sqlite}\n")
    },
    .init("a guessed name that is none", 78, ["job.yaml:10:30: ", "'Book' has no relationship 'authr'"]) {
      try $0.append("job.yaml", "layout: {names: {Book.authr: Z_1AUTHORS}}\n")
    },
    .init("names taken from a file that is not a store", 65, ["job.yaml:10:16: ", "noise"]) {
      try $0.writeNoise("noise")
      try $0.append("job.yaml", "layout: {from: noise}\n")
    },
    .init("an order of unknown versions", 78, ["job.yaml:7:", "version-order names the unknown model 'Libary'"]) {
      try $0.edit("job.yaml", "mappings: library.mapping.yaml", "mappings: auto\nversion-order: [Libary]")
    },
    .init(
      "a word for mappings that is misspelt", 66, ["'inferrred'", "did you mean 'inferred'?", "`mappings: inferred`"]
    ) {
      try $0.edit("job.yaml", "mappings: library.mapping.yaml", "mappings: inferrred")
    },
    .init("mappings that cannot be inferred", 69, ["job.yaml:6:1: ", "no mapping model can be inferred", "cause"]) {
      try $0.edit("job.yaml", "mappings: library.mapping.yaml", "mappings: inferred")
    },
    .init("quarantine of a job that appends", 78, ["job.yaml:10:1: ", "cannot quarantine", "the job appends"]) {
      try $0.append("job.yaml", "on-invalid: {quarantine: {max-rows: 3}}\n")
      try $0.edit("job.yaml", "out/library.sqlite", "{path: out/library.sqlite, existing: append}")
    },
    .init("a key of a map at the top", 78, ["job.yaml:10:1: ", "unknown key 'keep-old'", "destination: {keep-old: …}"])
    {
      try $0.append("job.yaml", "keep-old: true\n")
    },
    .init("destination of another type", 78, ["job.yaml:10:", "'destination-type'", "NSInMemoryStoreType"]) {
      try $0.append("job.yaml", "destination-type: memory\n")
    },
    .init("manifest is a named pipe", 66, ["'job.yaml'", "another kind of file"]) {
      try $0.remove("job.yaml")
      try $0.makePipe("job.yaml")
    },
    .init("source path of no bytes", 78, ["job.yaml:2:", "'source'"]) {
      try $0.edit("job.yaml", "source: library.sqlite", "source: \"a\\0b\"")
    },
    .init("unreadable manifest", 77, ["'job.yaml'", "permission"], user: .nobody) { try $0.setMode("job.yaml", 0) },
  ]

  static let destinations: [BadInput] = [
    .init("source is the destination", 78, ["job.yaml:3:14: ", "'source' and 'destination'"]) {
      try $0.edit("job.yaml", "out/library.sqlite", "./library.sqlite")
    },
    .init("destination is a link to the source", 78, ["job.yaml:3:14: ", "'source' and 'destination'"]) {
      try $0.edit("job.yaml", "out/library.sqlite", "link.sqlite")
      try FileManager.default.createSymbolicLink(atPath: $0.file("link.sqlite"), withDestinationPath: "library.sqlite")
    },
    .init("destination is a hard link to the source", 78, ["job.yaml:3:14: ", "'source' and 'destination'"]) {
      try $0.edit("job.yaml", "out/library.sqlite", "link.sqlite")
      try FileManager.default.linkItem(atPath: $0.file("library.sqlite"), toPath: $0.file("link.sqlite"))
    },
    .init("destination in a linked folder is the source", 78, ["job.yaml:3:14: ", "'source' and 'destination'"]) {
      try FileManager.default.createSymbolicLink(atPath: $0.file("out"), withDestinationPath: ".")
    },
    .init("foreign file at the destination", 73, ["out/library.sqlite'", "it exists"]) {
      try $0.makeFolder("out")
      try $0.write("out/library.sqlite", "hello")
    },
    .init("foreign store at the destination", 73, ["out/library.sqlite'", "it exists"]) {
      try $0.makeFolder("out")
      try FileManager.default.copyItem(atPath: $0.file("library.sqlite"), toPath: $0.file("out/library.sqlite"))
    },
    .init("foreign file at the destination, planned", ["plan", "job.yaml"], 73, ["out/library.sqlite'", "it exists"]) {
      try $0.makeFolder("out")
      try $0.write("out/library.sqlite", "hello")
    },
    .init("folder at the destination", 73, ["out/library.sqlite'", "it exists"]) {
      try $0.makeFolder("out/library.sqlite")
    },
    .init("dangling link at the destination", 73, ["out/library.sqlite'", "it exists"]) {
      try $0.makeFolder("out")
      try FileManager.default.createSymbolicLink(atPath: $0.file("out/library.sqlite"), withDestinationPath: "nowhere")
    },
    .init("garbage at the destination, verified", ["verify", "job.yaml"], 65, ["out/library.sqlite'"]) {
      try $0.makeFolder("out")
      try $0.writeNoise("out/library.sqlite")
    },
    .init("nothing at the destination, verified", ["verify", "job.yaml"], 66, ["out/library.sqlite'"]) { _ in },
    .init("log of another store at the destination", 73, ["out/library.sqlite-wal'"]) {
      try $0.makeFolder("out")
      try $0.write("out/library.sqlite-wal", "old")
    },
    .init("file where the destination's folder goes", 73, ["out/library.sqlite.godwit'", "'out' is a file"]) {
      try $0.write("out", "hello")
    },
    .init("file where the work folder goes", 73, ["'out/library.sqlite.godwit' as the work folder: it is a file"]) {
      try $0.makeFolder("out")
      try $0.write("out/library.sqlite.godwit", "hello")
    },
    .init("name of the destination too long", 73, ["cannot create"]) {
      try $0.edit("job.yaml", "out/library.sqlite", String(repeating: "n", count: 300))
    },
    .init("store in place in a read-only folder", 77, ["library.sqlite.godwit"], user: .nobody) {
      try $0.edit("job.yaml", "destination: out/library.sqlite", "destination: {existing: in-place}")
      try $0.setMode("library.sqlite", 0o666)
      try $0.setMode(".", 0o555)
    },
    .init("destination in a read-only folder", 77, ["out/library.sqlite.godwit"], user: .nobody) {
      try $0.makeFolder("out")
      try $0.setMode("out", 0o555)
    },
    .init("destination's folder in a read-only folder", 77, ["shut/out"], user: .nobody) {
      try $0.edit("job.yaml", "out/library.sqlite", "shut/out/library.sqlite")
      try $0.makeFolder("shut")
      try $0.setMode("shut", 0o555)
    },
  ]
}
