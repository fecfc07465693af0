import Foundation

extension BadInput {
  private static let bundle = "Library.xcdatamodeld"
  private static let first = "Library.xcdatamodeld/Library.xcdatamodel/contents"
  private static let second = "Library.xcdatamodeld/Library 2.xcdatamodel/contents"
  private static let mapping = "library.mapping.yaml"

  static let models: [BadInput] = [
    .init("no model fits", 69, ["library.sqlite'", "nearest is 'Library'", "'Book' differs"]) {
      try $0.edit(first, "Integer 32", "Integer 64")
      try $0.remove("Library.xcdatamodeld/Library 2.xcdatamodel")
      try $0.edit("job.yaml", "destination-model: Library 2", "destination-model: Library")
      try $0.remove("Library.xcdatamodeld/.xccurrentversion")
    },
    .init("missing models", 66, ["Library.xcdatamodeld'"]) { try $0.remove(bundle) },
    .init("models folder without models", 66, ["Library.xcdatamodeld'", ".xcdatamodel"]) {
      try $0.remove(bundle)
      try $0.makeFolder(bundle)
    },
    .init("models of another kind", 66, ["library.mapping.yaml'"]) {
      try $0.edit("job.yaml", "models: Library.xcdatamodeld", "models: library.mapping.yaml")
    },
    .init("model that is not well-formed", 66, ["Library 2.xcdatamodel/contents:4:"]) {
      try $0.edit(second, "<attribute name=\"name\"", "<attribute name=\"name")
    },
    .init("model cut in the middle", 66, ["Library 2.xcdatamodel/contents:"]) { try $0.cut(second) { $0 / 2 } },
    .init("model of another document", 66, ["Library 2.xcdatamodel/contents:1:"]) { try $0.write(second, "<html/>") },
    .init("empty model", 66, ["Library 2.xcdatamodel/contents"]) { try $0.write(second, "") },
    .init("model with an unknown type", 66, ["Library 2.xcdatamodel/contents:5:", "'Integer 33'"]) {
      try $0.edit(second, "Integer 16", "Integer 33")
    },
    .init("model with an unknown parent", 66, ["Library 2.xcdatamodel/contents", "'Nobody'"]) {
      try $0.edit(second, "<entity name=\"Book\"", "<entity name=\"Book\" parentEntity=\"Nobody\"")
    },
    .init("model with parents in a circle", 66, ["Library 2.xcdatamodel/contents"]) {
      try $0.edit(second, "<entity name=\"Book\"", "<entity name=\"Book\" parentEntity=\"Book\"")
    },
    .init("model without contents", 66, ["Library 2.xcdatamodel/contents"]) { try $0.remove(second) },
    .init("current version of nothing", 66, ["'Library 3'", "Library.xcdatamodeld'"]) {
      try $0.edit("job.yaml", "destination-model: Library 2\n", "")
      try $0.edit("Library.xcdatamodeld/.xccurrentversion", "Library 2.xcdatamodel", "Library 3.xcdatamodel")
    },
    .init("unknown destination model", 78, ["job.yaml:5:20: ", "'Libary 2'", "did you mean 'Library 2'?"]) {
      try $0.edit("job.yaml", "destination-model: Library 2", "destination-model: Libary 2")
    },
    .init("assumed model of a store that knows its own", 78, ["job.yaml:10:22: ", "assume"]) {
      try $0.append("job.yaml", "assume-source-model: Library\n")
    },
    .init("hashes of a missing model", ["model", "hash", "No.xcdatamodeld"], 66, ["'No.xcdatamodeld'"]) { _ in },
    .init("hashes of garbage", ["model", "hash", bundle], 66, ["Library 2.xcdatamodel/contents:1:"]) {
      try $0.writeNoise(second)
    },
    .init("hashes of a store, not a model", ["model", "hash", "library.sqlite"], 66, ["'library.sqlite'"]) { _ in },
    .init("hashes of an unknown version", ["model", "hash", bundle + "#Libary"], 66, ["did you mean 'Library'?"]) { _ in
    },
    .init("garbage model, inspected", ["inspect", bundle], 66, ["Library 2.xcdatamodel/contents:1:"]) {
      try $0.writeNoise(second)
    },
    .init("unreadable model", 77, ["Library 2.xcdatamodel/contents"], user: .nobody) { try $0.setMode(second, 0) },
  ]

  static let mappings: [BadInput] = [
    .init("missing mapping", 66, ["library.mapping.yaml'"]) { try $0.remove(mapping) },
    .init("empty mapping", 78, ["library.mapping.yaml:1:1: ", "empty"]) { try $0.write(mapping, "") },
    .init("mapping is the manifest", 78, ["job.yaml:1:1: ", "found a job manifest", "`godwit-mapping: 1`"]) {
      try $0.edit("job.yaml", "mappings: library.mapping.yaml", "mappings: job.yaml")
    },
    .init("unknown key of a mapping", 78, ["library.mapping.yaml:12:5: ", "'fliter'", "did you mean 'filter'?"]) {
      try $0.edit(mapping, "    filter:", "    fliter:")
    },
    .init("unknown kind of mapping", 78, ["library.mapping.yaml:6:11: ", "did you mean 'copy'?"]) {
      try $0.edit(mapping, "type: copy", "type: coppy")
    },
    .init("mapping for another model", 78, ["library.mapping.yaml:2:15: ", "'Library 9'"]) {
      try $0.edit(mapping, "source-model: Library\n", "source-model: Library 9\n")
    },
    .init("unknown source entity", 78, ["library.mapping.yaml:10:13: ", "'Bok'", "did you mean 'Book'?"]) {
      try $0.edit(mapping, "    source: Book", "    source: Bok")
    },
    .init("unknown destination entity", 78, ["library.mapping.yaml:11:18: ", "'Boook'", "did you mean 'Book'?"]) {
      try $0.edit(mapping, "    destination: Book", "    destination: Boook")
    },
    .init("abstract destination entity", 78, ["library.mapping.yaml:11:18: ", "'Thing'", "abstract"]) {
      try $0.edit(mapping, "    destination: Book", "    destination: Thing")
    },
    .init("unknown attribute", 78, ["library.mapping.yaml:14:7: ", "'titel'", "did you mean 'title'?"]) {
      try $0.edit(mapping, "      title: $source.title", "      titel: $source.title")
    },
    .init("unknown source attribute", 78, ["library.mapping.yaml:14:22: ", "'titel'", "did you mean 'title'?"]) {
      try $0.edit(mapping, "      title: $source.title", "      title: $source.titel")
    },
    .init("unknown relationship", 78, ["library.mapping.yaml:18:7: ", "'autor'", "did you mean 'author'?"]) {
      try $0.edit(mapping, "      author: {", "      autor: {")
    },
    .init("attribute under relationships", 78, ["library.mapping.yaml:18:7: ", "'isbn'", "attributes"]) {
      try $0.edit(mapping, "      author: {", "      isbn: {")
    },
    .init("unknown key path", 78, ["library.mapping.yaml:18:", "'autor'", "did you mean 'author'?"]) {
      try $0.edit(mapping, "key-path: author", "key-path: autor")
    },
    .init("unknown mapping name", 78, ["library.mapping.yaml:18:26: ", "'AuthorToAutor'", "'AuthorToAuthor'?"]) {
      try $0.edit(mapping, "{ mapping: AuthorToAuthor", "{ mapping: AuthorToAutor")
    },
    .init("filter that does not parse", 78, ["library.mapping.yaml:12:22: ", "  cause   pages >= OR", "^"]) {
      try $0.edit(mapping, "pages >= 0 OR pages == nil", "pages >= OR pages == nil")
    },
    .init(
      "filter of an unknown property", 78, ["library.mapping.yaml:12:13: ", "'pagse'", "did you mean 'pages'?", "^"]
    ) {
      try $0.edit(mapping, "pages >= 0 OR pages == nil", "pagse >= 0")
    },
    .init("empty filter", 78, ["library.mapping.yaml:12:", "'filter'"]) {
      try $0.edit(mapping, "pages >= 0 OR pages == nil", "''")
    },
    .init("text into an integer", 78, ["library.mapping.yaml:15:14: ", "'pages'", "^"]) {
      try $0.edit(mapping, "pages: $source.pages", "pages: $source.title")
    },
    .init("text compared with a number", 78, ["library.mapping.yaml:12:13: ", "^"]) {
      try $0.edit(mapping, "pages >= 0 OR pages == nil", "title > 5")
    },
    .init("expression without an end", 78, ["library.mapping.yaml:15:", "^"]) {
      try $0.edit(mapping, "pages: $source.pages", "pages: ($source.pages + 1")
    },
    .init("expression deeper than any writer", 78, ["library.mapping.yaml:15:"]) {
      try $0.edit(
        mapping, "pages: $source.pages",
        "pages: " + String(repeating: "(", count: 100_000) + "1" + String(repeating: ")", count: 100_000))
    },
    .init("empty attribute", 78, ["library.mapping.yaml:15:", "'pages'"]) {
      try $0.edit(mapping, "pages: $source.pages", "pages: ''")
    },
    .init("mapping name that stands twice", 78, ["library.mapping.yaml:9:11: ", "'AuthorToAuthor'"]) {
      try $0.edit(mapping, "name: BookToBook", "name: AuthorToAuthor")
    },
    .init("policy that nobody registered", 78, ["library.mapping.yaml:12:13: ", "'FlagByPrefix'"]) {
      try $0.edit(mapping, "    filter: pages >= 0 OR pages == nil", "    policy: FlagByPrefix")
    },
    .init("unique-by of an unknown attribute", 78, ["library.mapping.yaml:12:16: ", "'isnb'", "did you mean 'isbn'?"]) {
      try $0.edit(mapping, "    filter: pages >= 0 OR pages == nil", "    unique-by: [isnb]")
    },
    .init("chunks of an unknown mapping", 78, ["job.yaml:8:9: ", "'BookToBok'", "did you mean 'BookToBook'?"]) {
      try $0.edit("job.yaml", "  rows: 100", "  by: { BookToBok: [\"pages > 5\"] }")
    },
    .init("chunks that leave rows out", 78, ["job.yaml:8:23: ", "no predicate matches 5 of its 300"]) {
      try $0.edit("job.yaml", "  rows: 100", "  by: { BookToBook: [\"pages > 5\"] }")
    },
    .init("chunks that take rows twice", 78, ["job.yaml:8:23: ", "more than one predicate matches 295 of its 300"]) {
      try $0.edit("job.yaml", "  rows: 100", "  by: { BookToBook: [\"pages > 5\", \"pages > 0\"] }")
    },
    .init("chunks that leave rows out, planned", ["plan", "job.yaml"], 78, ["job.yaml:8:23: "]) {
      try $0.edit("job.yaml", "  rows: 100", "  by: { BookToBook: [\"pages > 5\"] }")
    },
    .init("chunks by an unknown property", 78, ["job.yaml:8:23: ", "'pagse'", "did you mean 'pages'?"]) {
      try $0.edit("job.yaml", "  rows: 100", "  by: { BookToBook: [\"pagse > 5\"] }")
    },
    .init("empty folder for a mapping model", 66, ["job.yaml:6:11: ", "Map.xcmappingmodel/xcmapping.xml"]) {
      try $0.edit("job.yaml", "mappings: library.mapping.yaml", "mappings: Map.xcmappingmodel")
      try $0.makeFolder("Map.xcmappingmodel")
    },
    .init("model for a mapping model", 78, ["job.yaml:6:11: ", "expected a mapping model, found a"]) {
      try $0.edit("job.yaml", "mappings: library.mapping.yaml", "mappings: Map.xcdatamodel")
    },
    .init(
      "relationship set by its name", 78,
      ["library.mapping.yaml:18:", "`author: { mapping: AuthorToAuthor, key-path: author }`"]
    ) {
      try $0.edit(mapping, "author: { mapping: AuthorToAuthor, key-path: author }", "author: $source.author")
    },
    .init("value cut at a blank and #", 78, ["library.mapping.yaml:14:", "cuts a value without quotes at ' #'"]) {
      try $0.edit(mapping, "title: $source.title", "title: join:with:({$source.title, \"x\"}, \" # \")")
    },
    .init("value with a colon and a blank", 78, ["library.mapping.yaml:14:", "must not have ': '", "`title: '"]) {
      try $0.edit(mapping, "title: $source.title", "title: join:with:({$source.title, \"x\"}, \": \")")
    },
    .init("filter that begins with !", 78, ["library.mapping.yaml:12:", "YAML's tag '!isbn'", "leading '!'"]) {
      try $0.edit(mapping, "filter: pages >= 0 OR pages == nil", "filter: !isbn")
    },
    .init("value that begins with *", 78, ["library.mapping.yaml:14:", "leading '*'", "`title: '*x'`"]) {
      try $0.edit(mapping, "title: $source.title", "title: *x")
    },
    .init("value that begins with @", 78, ["library.mapping.yaml:14:", "leading '@'"]) {
      try $0.edit(mapping, "title: $source.title", "title: @x")
    },
    .init("list as a value", 78, ["library.mapping.yaml:14:", "leading '{'", "'{$source.title, $source.isbn}'"]) {
      try $0.edit(mapping, "title: $source.title", "title: {$source.title, $source.isbn}")
    },
    .init("element of a list as a value", 78, ["library.mapping.yaml:14:", "'{$source.title, $source.isbn}[0]'"]) {
      try $0.edit(mapping, "title: $source.title", "title: {$source.title, $source.isbn}[0]")
    },
    .init("list after value:", 78, ["library.mapping.yaml:14:", "put the expression between quotes"]) {
      try $0.edit(mapping, "title: $source.title", "title: {value: {$source.title, $source.isbn}[0]}")
    },
    .init("mapping file, linted", ["lint", mapping], 66, ["library.mapping.yaml'", "give the models or their folder"]) {
      _ in
    },
    .init(
      "mapping file, converted", ["mapping", "convert", mapping], 66, ["`--to xcmappingmodel -o X.xcmappingmodel`"]
    ) {
      _ in
    },
    .init("unreadable mapping", 77, ["library.mapping.yaml'", "permission"], user: .nobody) {
      try $0.setMode(mapping, 0)
    },
  ]
}
