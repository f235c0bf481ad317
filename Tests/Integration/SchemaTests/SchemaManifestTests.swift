import Foundation
import InboxTesting
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
        for (index, step) in manifest.steps.enumerated() {
            let number = String(index + 2)
            #expect(step.file.name.hasPrefix("steps/" + String(repeating: "0", count: 4 - number.count) + number + "_"))
        }
        let next = manifest.version + 1
        let plain = manifest.adding("SELECT 1;")
        #expect(plain.version == next && plain.contract == manifest.contract)
        let breaking = manifest.adding("-- breaking\nSELECT 1;")
        #expect(breaking.version == next && breaking.contract == Int32(next))
    }

    @Test func `a step says in its first lines whether it is breaking and how it runs`() {
        let breaking = SchemaStep(file: SchemaFile(name: "steps/0002_a", text: "-- Why.\n-- breaking\nSELECT '-- concurrently';"))
        #expect(breaking.isBreaking && !breaking.isConcurrent)
        let concurrent = SchemaStep(file: SchemaFile(name: "steps/0003_b", text: "-- concurrently\nSELECT 1;\n-- breaking\n"))
        #expect(concurrent.isConcurrent && !concurrent.isBreaking)
    }

    @Test func `functions and views are replaced, so that what depends on them can stay`() {
        for file in SchemaManifest().functions + SchemaManifest().views {
            let made = file.text.matches(
                of: #/^CREATE (?<how>OR REPLACE )?(FUNCTION|PROCEDURE|AGGREGATE|VIEW|TRIGGER) /#.anchorsMatchLineEndings()
            )
            #expect(!made.isEmpty && made.allSatisfy { $0.output.how != nil }, "\(file.name)")
        }
    }

    @Test func `tables and steps never replace existing objects`() {
        let manifest = SchemaManifest()
        for file in manifest.tables + manifest.steps.map(\.file) { #expect(!file.text.contains("CREATE OR REPLACE"), "\(file.name)") }
    }
}
