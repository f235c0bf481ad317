import AppStore
import Foundation
import OpenSSL
import StoreSimulator
import Testing

struct AuthorityFolderTests {
    @Test func `the folder gives the same authority each time, and only its owner may read the keys`() async throws {
        try await withTemporaryFolder { path in
            let folder = AuthorityFolder(path)
            let made = try folder.open(now: .testNow)
            let kept = try folder.open(now: .testNow)
            #expect(kept.chain.map(\.der) == made.chain.map(\.der))
            #expect(try permissions(path) == 0o700)
            #expect(try permissions("\(path)/authority.pem") == 0o600)
            #expect(try permissions("\(path)/root.pem") == 0o644)
            #expect(try FileManager.default.contentsOfDirectory(atPath: path).sorted() == ["authority.pem", "root.pem"])
            let root = try Certificate.single(pem: try String(contentsOfFile: folder.rootPath, encoding: .utf8))
            #expect(root == made.root)
        }
    }

    @Test func `the authority of receipts is kept beside it, with a root of its own`() async throws {
        try await withTemporaryFolder { path in
            let folder = AuthorityFolder(path)
            let made = try folder.openReceipts(now: .testNow)
            #expect(try folder.openReceipts(now: .testNow).chain(.sha256).leaf == made.chain(.sha256).leaf)
            #expect(try permissions("\(path)/receipts.pem") == 0o600)
            let root = try Certificate.single(pem: try String(contentsOfFile: folder.receiptRootPath, encoding: .utf8))
            #expect(root == made.root)
            #expect(try folder.open(now: .testNow).root != root)
        }
    }

    @Test(arguments: 1...8) func `concurrent callers of a new folder get the same authority`(round: Int) async throws {
        try await withTemporaryFolder { path in
            let roots = try await withThrowingTaskGroup(of: [UInt8].self) { group in
                for _ in 0..<6 { group.addTask { try AuthorityFolder(path).open(now: .testNow).root.der } }
                return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
            }
            #expect(roots.count == 1, "round \(round)")
            let root = try Certificate.single(pem: try String(contentsOfFile: "\(path)/root.pem", encoding: .utf8))
            #expect(roots == [root.der], "round \(round)")
        }
    }

    @Test func `an expired leaf is renewed under the same root and stored`() async throws {
        try await withTemporaryFolder { path in
            let made = try AuthorityFolder(path).open(now: .testNow)
            let later = Timestamp.testNow.advanced(byDays: 800)
            let renewed = try AuthorityFolder(path).open(now: later)
            #expect(renewed.covers(later))
            #expect(renewed.root == made.root && renewed.leaf != made.leaf)
            #expect(try AuthorityFolder(path).open(now: later).leaf == renewed.leaf)
        }
    }

    @Test func `an error about a damaged file names the file and contains no key`() async throws {
        try await withTemporaryFolder { path in
            let file = "\(path)/authority.pem"
            _ = try AuthorityFolder(path).open(now: .testNow)
            let whole = try String(contentsOfFile: file, encoding: .utf8)
            try String(whole.dropLast(100)).write(toFile: file, atomically: false, encoding: .utf8)
            let error = #expect(throws: SimulationError.self) { try AuthorityFolder(path).open(now: .testNow) }
            #expect(error?.code == .authorityFolder)
            let text = try #require(error).description
            #expect(text.contains(file) && !text.contains("PRIVATE"))
        }
    }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func withTemporaryFolder(_ body: (String) async throws -> Void) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "store-simulator-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await body("\(path)/authority")
    }
}
