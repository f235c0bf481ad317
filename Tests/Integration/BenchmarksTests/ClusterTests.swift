import Foundation
import TemporaryPostgres
import Testing

struct ClusterTests {
    @Test func `a cluster removes only the folders of its name whose process has ended`() async throws {
        let child = try ChildProcess.launch(ChildCommand(["sh", "-c", "echo $$"]))
        await child.awaitExit()
        let dead = try #require(Int(child.output.trimmingCharacters(in: .whitespacesAndNewlines)))
        let name = "appstore-inbox-left-\(UInt16.random(in: 0 ... .max))"
        let (gone, alive, other) = ("\(name)-\(dead)-1", "\(name)-\(getpid())-1", "\(name)-notes")
        let parent = FileManager.default.temporaryDirectory
        for folder in [gone, alive, other] {
            let data = parent.appending(path: folder).appending(path: "data")
            try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
            try Data("x".utf8).write(to: data.appending(path: "file"))
        }
        let cluster = try Cluster(Cluster.Configuration(name: name))
        try await cluster.initialize()
        func left() throws -> Set<String> {
            Set(try FileManager.default.contentsOfDirectory(atPath: parent.path).filter { $0.hasPrefix(name) })
        }
        #expect(try left() == [alive, other, cluster.folder.lastPathComponent])
        await cluster.remove()
        #expect(try left() == [alive, other])
        for folder in [alive, other] { try FileManager.default.removeItem(at: parent.appending(path: folder)) }
    }
}
