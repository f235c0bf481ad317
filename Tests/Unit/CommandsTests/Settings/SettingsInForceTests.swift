import Foundation
import Testing

@testable import Commands

@Suite struct SettingsInForceTests {
    private let folder: TemporaryFolder
    private let usual: [String: String]

    init() throws {
        folder = try TemporaryFolder()
        usual = ["APPSTORE_INBOX_DATABASE_URL": "host=/a", "APPSTORE_INBOX_APPS": "com.example.a"]
    }

    @Test(arguments: [
        ("APPSTORE_INBOX_APPS", "com.example.b", "apps"), ("APPSTORE_INBOX_DATABASE_URL", "host=/b", "database-url"),
        ("APPSTORE_INBOX_SHARED_SECRETS", "com.example.a=one", "shared-secrets"), ("APPSTORE_INBOX_LOG_LEVEL", "debug", "log-level"),
    ])
    func `a setting whose text is another differs`(variable: String, value: String, name: String) throws {
        let (old, new) = (try inForce(usual), try inForce(usual.merging([variable: value]) { $1 }))
        #expect(new.differences(from: old) == [name])
        #expect(old.differences(from: new) == [name])
        #expect(old.differences(from: try inForce(usual)) == [])
    }

    @Test func `the file of a root and the file of a secret differ when their content does`() throws {
        let root = try folder.write("root.pem", "one")
        let secrets = folder.url.appending(path: "secrets")
        try FileManager.default.createDirectory(at: secrets, withIntermediateDirectories: true)
        _ = try folder.write("secrets/com.example.a", "one")
        let files = ["APPSTORE_INBOX_EXTRA_ROOTS": root, "APPSTORE_INBOX_SHARED_SECRETS_DIRECTORY": secrets.path].merging(usual) { $1 }
        let old = try inForce(files)
        _ = try folder.write("root.pem", "two")
        #expect(try inForce(files).differences(from: old) == ["extra-roots"])
        _ = try folder.write("secrets/com.example.a", "two")
        #expect(try inForce(files).differences(from: old) == ["extra-roots", "shared-secrets"])
    }

    @Test func `a setting that is not taken still differs`() throws {
        var settings = try inForce(usual)
        let new = try inForce(usual.merging(["APPSTORE_INBOX_APPS": "com.example.b", "APPSTORE_INBOX_CONCURRENCY": "64"]) { $1 })
        settings.take(["apps"], from: new)
        #expect(new.differences(from: settings) == ["concurrency"])
    }

    private func inForce(_ environment: [String: String]) throws -> SettingsInForce {
        try SettingsInForce(SettingsReader(flags: [:], environment: environment), .worker)
    }
}
