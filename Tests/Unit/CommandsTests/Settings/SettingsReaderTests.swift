import AppStoreVerification
import Foundation
import HTTPServing
import ShopAPI
import Testing

@testable import Commands

@Suite struct SettingsReaderTests {
    private let database = ["APPSTORE_INBOX_DATABASE_URL": "postgresql:///shop"]

    @Test func `a flag overrides the environment, which overrides the file, which overrides the default`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("inbox.json", #"{"listen": "127.0.0.1:3", "admin-listen": "127.0.0.1:3", "body-limit": 65536}"#)
        var environment = database
        environment["APPSTORE_INBOX_CONFIG"] = file
        environment["APPSTORE_INBOX_LISTEN"] = "127.0.0.1:2"
        environment["APPSTORE_INBOX_ADMIN_LISTEN"] = "127.0.0.1:2"
        let settings = try IngestSettings(SettingsReader(flags: ["listen": "127.0.0.1:1"], environment: environment))
        #expect("\(settings.listen)" == "127.0.0.1:1")
        #expect("\(settings.adminListen)" == "127.0.0.1:2")
        #expect(settings.bodyLimit == 65536)
        #expect(settings.requestTimeout == .seconds(10))
    }

    @Test func `the file may hold lists, numbers and booleans as JSON values`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "inbox.json",
            #"{"apps": ["com.example.a", "com.example.b:42"], "concurrency": 3, "prepared": false, "database-url": "host=/tmp"}"#
        )
        let settings = try WorkerSettings(SettingsReader(flags: [:], configPath: file, environment: [:]))
        #expect(settings.verification.apps.map(\.bundleID) == ["com.example.a", "com.example.b"])
        #expect(settings.verification.apps.map(\.appAppleID) == [nil, 42])
        #expect(settings.concurrency == 3)
        #expect(!settings.database.isPrepared)
        #expect(settings.database.url == "host=/tmp")
    }

    @Test(arguments: [
        (#"{"lissten": "127.0.0.1:1"}"#, "lissten is not a setting"),
        (#"{"listen": {"host": "a"}}"#, "listen must be text"),
        (#"{"listen": "#, "is not JSON"),
        (#"[]"#, "must hold one JSON object"),
    ])
    func `an invalid file is named with the problem`(text: String, problem: String) throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("inbox.json", text)
        let error = #expect(throws: SettingsError.self) { try SettingsReader(flags: [:], configPath: file, environment: [:]) }
        #expect(try #require(error).description.contains("\(file): \(problem)"))
    }

    @Test func `the file may hold a line for each setting, as a shell reads them`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "inbox.env",
            """
            # The apps
              ; and where PostgreSQL is

            APPSTORE_INBOX_APPS=com.example.a
            APPSTORE_INBOX_DATABASE_URL='host=/tmp dbname=shop'\r
            APPSTORE_INBOX_CONCURRENCY = "3"
            APPSTORE_INBOX_LISTEN=not for a worker
            APPSTORE_INBOX_APPS=com.example.b:42
            """
        )
        let reader = try SettingsReader(flags: [:], configPath: file, environment: ["APPSTORE_INBOX_BATCH_SIZE": "7"])
        let settings = try WorkerSettings(reader)
        #expect(settings.verification.apps.map(\.bundleID) == ["com.example.b"])
        #expect(settings.database.url == "host=/tmp dbname=shop")
        #expect((settings.concurrency, settings.batchSize) == (3, 7))
        #expect(try reader.check(.worker).contains("APPSTORE_INBOX_APPS in \(file)"))
    }

    @Test func `each wrong line of a file is named by its number, without its value`() throws {
        let folder = try TemporaryFolder()
        let lines = [
            "APPSTORE_INBOX_APSS=secret", "secret", #"APPSTORE_INBOX_APPS="secret"#, "PGPASSWORD=secret", "APPSTORE_INBOX_LISTEN=x",
        ]
        let file = try folder.write("inbox.env", lines.joined(separator: "\n"))
        let error = try #require(throws: SettingsError.self) { try SettingsReader(flags: [:], configPath: file, environment: [:]) }
        #expect(
            error.problems == [
                "\(file), line 1: APPSTORE_INBOX_APSS is not a setting: did you mean APPSTORE_INBOX_APPS?",
                "\(file), line 2: is not NAME=value",
                "\(file), line 3: APPSTORE_INBOX_APPS has a quote that does not end", "\(file), line 4: PGPASSWORD is not a setting",
            ]
        )
    }

    @Test func `a missing file is named`() throws {
        let error = #expect(throws: SettingsError.self) {
            try SettingsReader(flags: [:], configPath: "/nonexistent.json", environment: [:])
        }
        #expect(error?.description == "/nonexistent.json cannot be read: there is no such file")
    }

    @Test func `every problem is reported at once, each with its source`() throws {
        let environment = database.merging(["APPSTORE_INBOX_BODY_LIMIT": "lots", "APPSTORE_INBOX_LOG_LEVEL": "loud"]) { $1 }
        let reader = try SettingsReader(flags: ["listen": "8080"], environment: environment)
        let error = try #require(throws: SettingsError.self) { try IngestSettings(reader) }
        #expect(error.problems.count == 3)
        #expect(error.description.contains(#"--listen: listen address "8080": it has no port"#))
        #expect(error.description.contains(#"APPSTORE_INBOX_BODY_LIMIT: must be a whole number from 16384 to 4194304, not "lots""#))
        #expect(error.description.contains("APPSTORE_INBOX_LOG_LEVEL: must be one of trace, debug"))
    }

    @Test func `a missing setting is named with its variable and flag`() throws {
        let error = try #require(throws: SettingsError.self) { try WorkerSettings(SettingsReader(flags: [:], environment: [:])) }
        #expect(error.problems.count == 2)
        #expect(error.description.contains("database-url is missing: set APPSTORE_INBOX_DATABASE_URL or --database-url"))
        #expect(error.description.contains("apps is missing"))
    }

    @Test func `limits that contradict each other are refused`() throws {
        let flags = ["body-limit": "4194304", "memory-limit": "1048576"]
        let reader = try SettingsReader(flags: flags, environment: database)
        #expect(throws: SettingsError.self) { try IngestSettings(reader) }
    }

    @Test func `the API is served only where its address is set, with its own connection string`() throws {
        #expect(try IngestSettings(SettingsReader(flags: [:], environment: database)).api == nil)
        let missing = try SettingsReader(flags: ["api-listen": "127.0.0.1:1"], environment: database)
        let error = try #require(throws: SettingsError.self) { try IngestSettings(missing) }
        #expect(error.description.contains("api-database-url is missing: set APPSTORE_INBOX_API_DATABASE_URL or --api-database-url"))

        let folder = try TemporaryFolder()
        _ = try folder.write("api-database-url", "host=/api\n")
        var environment = database
        environment["CREDENTIALS_DIRECTORY"] = folder.url.path
        let reader = try SettingsReader(flags: ["api-listen": "127.0.0.1:1", "prepared": "off"], environment: environment)
        let settings = try IngestSettings(reader)
        #expect((settings.api?.database.url, settings.database.url) == ("host=/api", "postgresql:///shop"))
        #expect(settings.api?.database.isPrepared == false)
        #expect(try !reader.check(.ingest).contains("host=/api"))
    }

    @Test(arguments: [
        ([:], 262_144, 4_128_768, 16_777_216), (["memory-limit": "4194304"], 262_144, 4_128_768, 8_257_536),
        (["legacy-body-limit": "16384", "memory-limit": "1048576"], 262_144, 16_384, 524_288),
        (["body-limit": "4194304"], 1_048_576, 4_128_768, 16_777_216),
    ])
    func `the API has its own memory limit`(flags: [String: String], usual: Int, receipt: Int, memory: Int) throws {
        let api = ["api-listen": "127.0.0.1:1", "api-database-url": "host=/api"]
        let settings = try IngestSettings(SettingsReader(flags: flags.merging(api) { $1 }, environment: database))
        let configuration = APIServer.Configuration(try #require(settings.api), settings)
        #expect(configuration.limits.maximumBodyBytes == usual && configuration.receiptBytes == receipt)
        #expect(configuration.limits.maximumBytesInMemory == memory)
    }

    @Test(arguments: [
        (["api-listen": "127.0.0.1:8080"], "--listen (APPSTORE_INBOX_LISTEN)", "--api-listen (APPSTORE_INBOX_API_LISTEN)"),
        (["api-listen": "127.0.0.1:9090"], "--admin-listen (APPSTORE_INBOX_ADMIN_LISTEN)", "--api-listen (APPSTORE_INBOX_API_LISTEN)"),
        (["listen": "127.0.0.1:9090"], "--listen (APPSTORE_INBOX_LISTEN)", "--admin-listen (APPSTORE_INBOX_ADMIN_LISTEN)"),
    ])
    func `two listeners with one address are refused, with both settings`(flags: [String: String], first: String, second: String) throws {
        let reader = try SettingsReader(flags: flags.merging(["api-database-url": "host=/api"]) { $1 }, environment: database)
        let error = try #require(throws: SettingsError.self) { try IngestSettings(reader) }
        #expect(error.description == "\(first) and \(second) have the same address \(flags.values.first ?? "")")
    }

    @Test func `several listeners may have any free port`() throws {
        let flags = ["listen": "127.0.0.1:0", "admin-listen": "127.0.0.1:0"]
        _ = try IngestSettings(SettingsReader(flags: flags, environment: database))
    }

    @Test func `a misspelt variable is reported, other programs' variables are not`() throws {
        let environment = ["APPSTORE_INBOX_APSS": "x", "APPSTORE_INBOX_APPS": "y", "APPSTORE_INBOX_SAMPLES": "z", "PATH": "/bin"]
        #expect(try SettingsReader(flags: [:], environment: environment).unknownVariables == ["APPSTORE_INBOX_APSS"])
    }

    @Test func `the report shows values and their sources but no secret`() throws {
        let environment = ["APPSTORE_INBOX_DATABASE_URL": "postgresql://shop:hunter2@db/shop", "APPSTORE_INBOX_APPS": "com.example.a"]
        let report = try SettingsReader(flags: ["batch-size": "7"], environment: environment).check(.worker)
        #expect(!report.contains("hunter2"))
        #expect(!report.contains("postgresql:"))
        let lines = report.split(separator: "\n").map { $0.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ") }
        #expect(lines.contains("database-url (secret) APPSTORE_INBOX_DATABASE_URL"))
        #expect(lines.contains("batch-size 7 --batch-size"))
        #expect(lines.contains("apps com.example.a APPSTORE_INBOX_APPS"))
        #expect(lines.contains("extra-roots (none) default"))
    }
}
