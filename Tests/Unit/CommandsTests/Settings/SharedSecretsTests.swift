import AppStoreVerification
import Foundation
import Testing

@testable import Commands

/// The shared secrets of the apps and their sources, which are the same for both daemons.
@Suite struct SharedSecretsTests {
    private static let variable = "APPSTORE_INBOX_SHARED_SECRETS"

    private func found(_ flags: [String: String], _ environment: [String: String] = [:]) throws -> SettingsReader.FoundSecrets? {
        try SettingsReader(flags: flags, environment: environment).sharedSecrets()
    }

    private func problem(_ flags: [String: String], _ environment: [String: String] = [:]) throws -> String {
        try #require(throws: SettingsError.self) { try found(flags, environment) }.description
    }

    @Test func `without a source there are no secrets`() throws {
        #expect(try found([:]) == nil)
        let folder = try TemporaryFolder()
        #expect(try found([:], ["CREDENTIALS_DIRECTORY": folder.url.path]) == nil)
        #expect(try found([:], ["CREDENTIALS_DIRECTORY": "/nonexistent"]) == nil)
        let settings = try IngestSettings(SettingsReader(flags: ["database-url": "host=/tmp"], environment: [:]))
        #expect(settings.sharedSecrets.isEmpty)
    }

    @Test func `a folder has a file for each app, one secret a line`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("com.example.tides", "\n  new \r\n\nold\n")
        _ = try folder.write("com.example.dunes", "other")
        _ = try folder.write(".hidden", "")
        let found = try #require(try found(["shared-secrets-directory": folder.url.path]))
        #expect(found.secrets.secrets(of: "com.example.tides") == ["new", "old"])
        #expect(found.secrets.secrets(of: "com.example.dunes") == ["other"])
        #expect(found.secrets.counts.count == 2)
        #expect(found.summary == "com.example.dunes: 1, com.example.tides: 2")
    }

    @Test func `systemd's credentials of a folder or a file are used when no other source is given`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("database-url", "host=/tmp")
        _ = try folder.write("shared-secrets_com.example.tides", "one\n")
        let environment = ["CREDENTIALS_DIRECTORY": folder.url.path]
        #expect(try found([:], environment)?.secrets.secrets(of: "com.example.tides") == ["one"])
        #expect(try found(["shared-secrets": "a.b=two"], environment)?.secrets.counts == ["a.b": 1])
        _ = try folder.write("shared-secrets", "com.example.dunes=three\n")
        #expect(try problem([:], environment).contains("are both set"))

        let file = try TemporaryFolder()
        _ = try file.write("shared-secrets", "com.example.dunes=three\n")
        #expect(try found([:], ["CREDENTIALS_DIRECTORY": file.url.path])?.secrets.secrets(of: "com.example.dunes") == ["three"])
    }

    @Test func `one text may hold all secrets, one item for each`() throws {
        let text = "com.example.tides=new, com.example.dunes=a=b ,\ncom.example.tides=old\r\n"
        let folder = try TemporaryFolder()
        let file = try folder.write("secrets", text)
        let list = #"["com.example.tides=new", "com.example.dunes=a=b", "com.example.tides=old"]"#
        let json = try folder.write("c.json", #"{"shared-secrets": \#(list)}"#)
        let readers = [
            try SettingsReader(flags: ["shared-secrets": text], environment: [:]),
            try SettingsReader(flags: [:], environment: [Self.variable: text]),
            try SettingsReader(flags: ["shared-secrets-file": file], environment: [:]),
            try SettingsReader(flags: [:], environment: [Self.variable + "_FILE": file]),
            try SettingsReader(flags: [:], configPath: json, environment: [:]),
        ]
        for reader in readers {
            let secrets = try #require(try reader.sharedSecrets()).secrets
            #expect(secrets.secrets(of: "com.example.tides") == ["new", "old"])
            #expect(secrets.secrets(of: "com.example.dunes") == ["a=b"])
        }
    }

    @Test func `two sources at once are refused`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("com.example.tides", "hunter2")
        let ways = ["shared-secrets": "a.b=hunter2", "shared-secrets-file": file, "shared-secrets-directory": folder.url.path]
        for (one, other) in [
            ("shared-secrets", "shared-secrets-file"), ("shared-secrets", "shared-secrets-directory"),
            ("shared-secrets-file", "shared-secrets-directory"),
        ] {
            let problem = try problem(ways.filter { $0.key == one || $0.key == other })
            #expect(problem.contains("--\(one)") && problem.contains("--\(other)") && problem.contains("are both set"))
            #expect(!problem.contains("hunter2"))
        }
    }

    @Test(arguments: ["", " ,\n", "hunter2", "=hunter2", "com.example.tides=", "a.b=hunter2,c d=hunter2", "a.b=hunter2,hunter2"])
    func `a text without secrets is refused without being shown`(text: String) throws {
        let problem = try problem([:], [Self.variable: text])
        #expect(problem.hasPrefix("\(Self.variable): ") && problem.contains("bundleId=secret"))
        #expect(!problem.contains("hunter2"))
        for settings in [Settings.ingest, Settings.worker] {
            let flags = ["database-url": "host=/tmp", "apps": "a.b", "shared-secrets": text]
            let reader = try SettingsReader(flags: flags, environment: [:])
            let error = try #require(throws: SettingsError.self) { try reader.requireValid(settings) }
            #expect(error.problems.count == 1 && !error.description.contains("hunter2"))
        }
    }

    @Test func `invalid files are named with the problem, without their content`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("com.example.empty", " \n")
        _ = try folder.write("com.example.tides~", "hunter2")
        try FileManager.default.createDirectory(at: folder.url.appending(path: "com.example.folder"), withIntermediateDirectories: false)
        try Data([0x68, 0x75, 0x6e, 0xff]).write(to: folder.url.appending(path: "com.example.binary"))
        let path = folder.url.path
        let problems = try problem(["shared-secrets-directory": path]).split(separator: "\n")
        #expect(
            problems == [
                "\(path)/com.example.binary: is not text", "\(path)/com.example.empty: holds no secret",
                "\(path)/com.example.folder cannot be read: it is a folder",
                "\(path)/: a file of shared secrets must be named as a bundle id, not 18 characters of another kind",
            ]
        )
        let file = try folder.write("file", "\n")
        #expect(try problem(["shared-secrets-file": file]).hasPrefix("\(file) (--shared-secrets-file): holds no secret"))
        #expect(
            try problem(["shared-secrets-file": "/nonexistent"])
                == "--shared-secrets-file: /nonexistent cannot be read: there is no such file"
        )
        let nowhere = try problem(["shared-secrets-directory": "/nonexistent"])
        #expect(nowhere.contains("--shared-secrets-directory: /nonexistent") && nowhere.contains("cannot be read"))
        let empty = try TemporaryFolder()
        #expect(try problem(["shared-secrets-directory": empty.url.path]).contains("holds no file"))
    }

    @Test(arguments: [SettingsReader.Scope.ingest, .worker])
    func `the report shows only the number of secrets for each app`(scope: SettingsReader.Scope) throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("com.example.tides", "hunter2\nhunter3\n")
        _ = try folder.write("com.example.dunes", "hunter4")
        let inText = ["shared-secrets": "com.example.tides=hunter2,com.example.dunes=hunter4,com.example.tides=hunter3"]
        let inFolder = ["shared-secrets-directory": folder.url.path]
        for (flags, place) in [(inFolder, "\(folder.url.path) (--shared-secrets-directory)"), (inText, "--shared-secrets")] {
            let all = flags.merging(["database-url": "host=/tmp", "apps": "com.example.tides,com.example.dunes"]) { $1 }
            let report = try SettingsReader(flags: all, environment: [:]).check(scope)
            #expect(!report.contains("hunter"))
            let lines = report.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            #expect(lines.contains("shared-secrets com.example.dunes: 1, com.example.tides: 2 \(place)"))
        }
        let without = try SettingsReader(flags: ["database-url": "host=/tmp", "apps": "a.b"], environment: [:]).check(scope)
        #expect(!without.contains("shared-secrets"))
    }

    @Test func `both daemons have the secrets, and a worker warns about apps that it does not process`() throws {
        let flags = ["database-url": "host=/tmp", "apps": "com.example.tides", "shared-secrets": "com.example.tides=a,com.example.tide=b"]
        let reader = try SettingsReader(flags: flags, environment: [:])
        #expect(try IngestSettings(reader).sharedSecrets.counts == ["com.example.tides": 1, "com.example.tide": 1])
        let worker = try WorkerSettings(reader)
        #expect(worker.verification.sharedSecrets.secrets(of: "com.example.tides") == ["a"])
        #expect(reader.strangeSecrets == ["--shared-secrets: com.example.tide has a shared secret and is not one of the apps"])
        #expect(!"\(worker)".contains(#""a""#))
    }
}
