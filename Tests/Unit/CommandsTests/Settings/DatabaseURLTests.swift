import Foundation
import Postgres
import Testing

@testable import Commands

/// The database URL, which is secret, and its sources.
@Suite struct DatabaseURLTests {
    private func url(_ flags: [String: String], _ environment: [String: String]) throws -> String {
        try DatabaseSettings(SettingsReader(flags: flags, environment: environment)).url
    }

    @Test func `systemd's credential is used when nothing else is given, without its last newline`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("database-url", "host=/run/postgresql dbname=shop\n")
        let environment = ["CREDENTIALS_DIRECTORY": folder.url.path]
        #expect(try url([:], environment) == "host=/run/postgresql dbname=shop")
        #expect(try url([:], environment.merging(["APPSTORE_INBOX_DATABASE_URL": "host=/tmp"]) { $1 }) == "host=/tmp")
    }

    @Test func `a file may hold the URL`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("secret", "host=/tmp\n")
        #expect(try url([:], ["APPSTORE_INBOX_DATABASE_URL_FILE": file]) == "host=/tmp")
        #expect(try url(["database-url-file": file], [:]) == "host=/tmp")
    }

    @Test func `two sources at once are refused`() throws {
        let error = try #require(throws: SettingsError.self) {
            try url(["database-url": "host=/a"], ["APPSTORE_INBOX_DATABASE_URL_FILE": "/b"])
        }
        #expect(error.description.contains("--database-url and APPSTORE_INBOX_DATABASE_URL_FILE are both set"))
    }

    @Test func `a file that cannot be read is named`() throws {
        let error = try #require(throws: SettingsError.self) { try url([:], ["APPSTORE_INBOX_DATABASE_URL_FILE": "/nonexistent"]) }
        #expect(error.description.contains("APPSTORE_INBOX_DATABASE_URL_FILE: /nonexistent cannot be read: there is no such file"))
    }

    @Test(arguments: ["host=db password=hunter2 nonsense=1", "postgresql://shop:hunter2@db:port/shop", ""])
    func `a URL that libpq refuses is refused without being shown`(text: String) throws {
        let error = try #require(throws: SettingsError.self) { try url([:], ["APPSTORE_INBOX_DATABASE_URL": text]) }
        #expect(error.description.hasPrefix("APPSTORE_INBOX_DATABASE_URL: "))
        #expect(!error.description.contains("hunter2"))
    }

    @Test(arguments: [("on", "adopt_role_settings" as String?), ("off", nil)])
    func `a session adopts its role's settings, unless a pooler shares it`(prepared: String, opening: String?) throws {
        let reader = try SettingsReader(flags: ["database-url": "host=/tmp", "prepared": prepared], environment: [:])
        let options = try ConnectionOptions(DatabaseSettings(reader), command: "worker", role: "appstore_worker")
        #expect(options.opening?.name == opening)
    }
}
