import Foundation
import Testing

@testable import Commands

/// The settings for webhooks.
@Suite struct WebhookSettingsTests {
    private static let secret = String(repeating: "s", count: 48)
    private static let usual = ["database-url": "host=/tmp", "apps": "com.example.a"]

    private func settings(_ flags: [String: String], _ environment: [String: String] = [:]) throws -> WebhookSettings {
        try WorkerSettings(SettingsReader(flags: Self.usual.merging(flags) { $1 }, environment: environment)).webhooks
    }

    private func problems(_ flags: [String: String], _ environment: [String: String] = [:]) throws -> [String] {
        try #require(throws: SettingsError.self) { try settings(flags, environment) }.problems
    }

    @Test func `without settings there is no secret, no header and no proxy`() throws {
        let settings = try settings([:])
        #expect(settings.masters == nil && settings.headers.isEmpty && settings.proxy == nil)
    }

    @Test func `the secret comes from a file or a credential, and no report shows it`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("webhook-secret", Self.secret + "\n")
        let credentials = ["CREDENTIALS_DIRECTORY": folder.url.path]
        let all = [
            try settings(["webhook-secret-file": file]).masters, try settings([:], credentials).masters,
            try settings([:], ["APPSTORE_INBOX_WEBHOOK_SECRET": Self.secret]).masters,
        ]
        #expect(all.allSatisfy { $0 != nil && $0 == all[0] })
        let reader = try SettingsReader(flags: Self.usual, environment: credentials)
        let report = try reader.check(.worker)
        #expect(report.contains("webhook-secret") && !report.contains(Self.secret))
    }

    @Test func `a secret that is too short is refused and not quoted`() throws {
        let problems = try problems(["webhook-secret": "hunter2"])
        #expect(problems.count == 1 && problems[0].hasPrefix("--webhook-secret: ") && !problems[0].contains("hunter2"), "\(problems)")
    }

    @Test(arguments: [
        ("outbound-networks", "10.0.0.0/8,tomorrow", "--outbound-networks: must be any, public, or networks"),
        ("outbound-proxy", "https://user:hunter2@proxy:3128", "--outbound-proxy: must be http://HOST:PORT"),
    ])
    func `a wrong network or proxy is named`(name: String, value: String, problem: String) throws {
        let problems = try problems([name: value])
        #expect(problems.count == 1 && problems[0].hasPrefix(problem) && !problems[0].contains("hunter2"), "\(problems)")
    }

    @Test func `headers of endpoints stand in files, or in credentials of a folder`() throws {
        let folder = try TemporaryFolder()
        _ = try folder.write("shop.headers", "# for the gateway\nAuthorization: Bearer a:b\r\n\nX-Team: no\nX-Empty:\n")
        let headers = try settings(["webhook-headers-directory": folder.url.path]).headers
        #expect(headers["shop"]?.map(\.name) == ["Authorization", "X-Team", "X-Empty"])
        #expect(headers["shop"]?.map(\.value) == ["Bearer a:b", "no", ""])

        let credentials = try TemporaryFolder()
        _ = try credentials.write("database-url", "host=/tmp")
        _ = try credentials.write("webhook-headers_crm.eu.headers", "X-Key: 1")
        #expect(try settings([:], ["CREDENTIALS_DIRECTORY": credentials.url.path]).headers.keys.sorted() == ["crm.eu"])
    }

    @Test func `wrong headers are named with file and line, without their values`() throws {
        let folder = try TemporaryFolder()
        let lines = ["hunter2", "Webhook-Id: hunter2", "Content-Length: 7", "X-Odd: hunter2\u{7F}", "X Y: hunter2", ": hunter2"]
        let path = try folder.write("shop.headers", lines.joined(separator: "\n"))
        _ = try folder.write("shop.txt", "X: y")
        let problems = try problems(["webhook-headers-directory": folder.url.path])
        #expect(
            problems == [
                "\(path), line 1: is not NAME: value", "\(path), line 2: Webhook-Id is set by the program",
                "\(path), line 3: Content-Length is set by the program",
                "\(path), line 4: the value of X-Odd has characters that are not printable ASCII", "\(path), line 5: is not NAME: value",
                "\(path), line 6: is not NAME: value",
                "\(folder.url.path)/shop.txt: the name must be that of an endpoint, and end in .headers",
            ]
        )
        let missing = try self.problems(["webhook-headers-directory": "/nonexistent"])
        #expect(missing == ["--webhook-headers-directory: /nonexistent cannot be read: there is no such file"])
    }

    @Test func `a reload sees another secret and other headers`() throws {
        let folder = try TemporaryFolder()
        let headers = folder.url.appending(path: "headers")
        try FileManager.default.createDirectory(at: headers, withIntermediateDirectories: true)
        let secret = try folder.write("secret", Self.secret)
        let flags = Self.usual.merging(["webhook-secret-file": secret, "webhook-headers-directory": headers.path]) { $1 }
        func inForce() throws -> SettingsInForce { try SettingsInForce(SettingsReader(flags: flags, environment: [:]), .worker) }
        let old = try inForce()
        _ = try folder.write("headers/shop.headers", "X: y")
        #expect(try inForce().differences(from: old) == ["webhook-headers-directory"])
        _ = try folder.write("secret", Self.secret + "\nanother")
        #expect(try inForce().differences(from: old) == ["webhook-headers-directory", "webhook-secret"])
        #expect(ReloadableWorker.settings.isSuperset(of: ["webhook-headers-directory", "webhook-secret"]))
    }
}
