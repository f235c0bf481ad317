import Foundation
import SQL
import Testing

struct SchemaManifestTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../sql").standardized

    private func files(in subfolder: String) throws -> Set<String> {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: Self.folder.appending(path: subfolder).path)
        return Set(paths.filter { $0.hasSuffix(".sql") }.map { "\(subfolder)/\($0.dropLast(4))" })
    }

    private func expectSame(_ listed: [SchemaFile], _ subfolder: String) throws {
        #expect(Set(listed.map(\.name)) == (try files(in: subfolder)))
        #expect(Set(listed.map(\.name)).count == listed.count)
        for file in listed {
            let text = try String(contentsOf: Self.folder.appending(path: file.name + ".sql"), encoding: .utf8)
            #expect(file.text == text, "\(file.name) is listed with the text of another file")
        }
    }

    @Test func `the manifest lists each file of the folders once, with its own text`() throws {
        let manifest = SchemaManifest()
        try expectSame(manifest.tables, "tables")
        try expectSame(manifest.steps.map(\.file), "steps")
        try expectSame(manifest.functions, "functions")
        try expectSame(manifest.views, "views")
        #expect(manifest.tables.map(\.name) == manifest.tables.map(\.name).sorted())
    }

    @Test func `version and contract follow from the steps`() {
        let manifest = SchemaManifest()
        #expect(manifest.steps.map(\.version) == manifest.steps.map(\.version).sorted())
        if let last = manifest.steps.last { #expect(manifest.version == last.version) }
        if let breaking = manifest.steps.last(where: \.isBreaking) { #expect(manifest.contract == Int32(breaking.version)) }
        for step in manifest.steps {
            let number = String(step.version)
            #expect(step.file.name.hasPrefix("steps/" + String(repeating: "0", count: 4 - number.count) + number + "_"))
        }
    }

    @Test func `a step says in its first lines whether it is breaking and how it runs`() {
        let breaking = SchemaStep(version: 2, file: SchemaFile(name: "a", text: "-- Why.\n-- breaking\nSELECT '-- concurrently';"))
        #expect(breaking.isBreaking && !breaking.isConcurrent)
        let concurrent = SchemaStep(version: 3, file: SchemaFile(name: "b", text: "-- concurrently\nSELECT 1;\n-- breaking\n"))
        #expect(concurrent.isConcurrent && !concurrent.isBreaking)
    }

    @Test func `tables and steps never replace existing objects`() {
        let manifest = SchemaManifest()
        for file in manifest.tables + manifest.steps.map(\.file) { #expect(!file.text.contains("CREATE OR REPLACE"), "\(file.name)") }
    }
}
