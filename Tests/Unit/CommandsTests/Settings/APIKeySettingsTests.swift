import AppStore
import Foundation
import OpenSSL
import Outbox
import ServerAPI
import Testing

@testable import Commands

/// The In-App Purchase keys and their sources.
@Suite struct APIKeySettingsTests {
    private static let issuer = "57246542-96fe-1a63-e053-0824d011072a"
    private static let other = "69a6de70-0000-47e3-e053-5b8c7c11a4d1"
    private let folder: TemporaryFolder
    private let usual = ["database-url": "host=/nonexistent", "apps": "com.example.a,com.example.b"]

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Writes a key, modified that many seconds after 1970.
    private func write(_ path: String, _ pem: String, modified: Double = 1000) throws {
        let file = folder.url.appending(path: path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(pem.utf8).write(to: file)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: modified)], ofItemAtPath: file.path)
    }

    private func reader(_ flags: [String: String] = [:], credentials: Bool = false) throws -> SettingsReader {
        let own = credentials ? [:] : ["api-keys-directory": folder.url.path]
        let environment = credentials ? ["CREDENTIALS_DIRECTORY": folder.url.path] : [:]
        return try SettingsReader(flags: usual.merging(own) { $1 }.merging(flags) { $1 }, environment: environment)
    }

    private func problem(_ flags: [String: String] = [:], credentials: Bool = false) throws -> String {
        try #require(throws: SettingsError.self) { try WorkerSettings(reader(flags, credentials: credentials)) }.description
    }

    @Test func `without a source there are no keys, and nothing is asked`() throws {
        let settings = try WorkerSettings(SettingsReader(flags: usual, environment: ["CREDENTIALS_DIRECTORY": "/nonexistent"]))
        #expect(settings.serverAPI.keys.keys(of: "com.example.a").isEmpty && settings.serverAPI.keys.lanes.isEmpty)
    }

    @Test func `a folder of an issuer has keys as Apple names them, of which the newest is tried first`() throws {
        try write("\(Self.issuer)/SubscriptionKey_OLD1.p8", try PrivateKey.generate(.p256).pem, modified: 1000)
        try write("\(Self.issuer)/SubscriptionKey_NEW2.p8", try PrivateKey.generate(.p256).pem, modified: 2000)
        try write("\(Self.issuer)/.hidden", "")
        try write(".git/x", "")
        let keys = try WorkerSettings(reader()).serverAPI.keys
        #expect(keys.keys(of: "com.example.a").map(\.id.keyID) == ["NEW2", "OLD1"])
        #expect(keys.lanes.count == 4 && keys.lanes.contains(CallLane("com.example.b", .sandbox)))
        #expect(try reader().strangeIssuers == [])
    }

    @Test(arguments: ["api-keys_\(issuer)_SubscriptionKey_A1.p8", "api-keys/\(issuer)/SubscriptionKey_A1.p8"])
    func `systemd's credentials are used, in the form of systemd and as folders`(path: String) throws {
        try write(path, try PrivateKey.generate(.p256).pem)
        try write("database-url", "host=/tmp")
        let keys = try WorkerSettings(reader(credentials: true)).serverAPI.keys
        #expect(keys.keys(of: "com.example.a").map(\.id) == [APIKey.ID(issuer: Self.issuer, keyID: "A1")])
    }

    @Test(arguments: [
        ("\(issuer)/AuthKey_A1.p8", "App Store Connect API"), ("SubscriptionKey_A1.p8", "a UUID"), ("x/SubscriptionKey_A1.p8", "a UUID"),
        ("\(issuer)/SubscriptionKey_A1.p8", "no private key in PEM"),
    ])
    func `a file that is no such key is named with what is wrong, and none of it is shown`(path: String, expected: String) throws {
        try write(path, "a secret")
        let problem = try problem()
        #expect(problem.contains("\(folder.url.path)/\(path) ") && problem.contains(expected) && !problem.contains("secret"), "\(problem)")
        #expect(!(try self.problem(credentials: false)).isEmpty)
    }

    @Test func `a credential that is no such key is refused as well, and so are a missing and an empty folder`() throws {
        try write("api-keys_\(Self.issuer)_AuthKey_A1.p8", "a secret")
        #expect(try problem(credentials: true).contains("App Store Connect API"))
        #expect(try problem(["api-keys-directory": "/nonexistent"]).contains("no such file"))
        let empty = try TemporaryFolder()
        #expect(try problem(["api-keys-directory": empty.url.path]).contains("holds no folder with a key"))
    }

    @Test func `of several issuers each app must name one`() throws {
        try write("\(Self.issuer)/SubscriptionKey_A1.p8", try PrivateKey.generate(.p256).pem)
        try write("\(Self.other)/SubscriptionKey_B1.p8", try PrivateKey.generate(.p256).pem)
        #expect(try WorkerSettings(reader()).serverAPI.keys.lanes == [])
        #expect(try reader().strangeIssuers.count == 2)
        let flags = ["api-issuers": "com.example.a=\(Self.other.uppercased()), com.example.b=\(Self.issuer)"]
        let keys = try WorkerSettings(reader(flags)).serverAPI.keys
        #expect(keys.keys(of: "com.example.a").map(\.id.keyID) == ["B1"] && keys.keys(of: "com.example.b").map(\.id.keyID) == ["A1"])
        #expect(try keys.lanes.count == 4 && reader(flags).strangeIssuers == [])
        let unknown = try reader(["api-issuers": "com.example.a=00000000-0000-0000-0000-000000000000,com.example.b=\(Self.issuer)"])
        #expect(unknown.strangeIssuers.map { $0.contains("no key of the issuer of com.example.a") } == [true])
        #expect(throws: SettingsError.self) { try unknown.check(.worker) }
    }

    @Test(arguments: ["com.example.a", "com.example.a=x", "=\(issuer)", "com.example.a=\(issuer),com.example.a=\(issuer)"])
    func `issuers that are none are refused`(text: String) throws {
        #expect(throws: InvalidSettingValue.self) { try SettingValue.issuers(text) }
    }

    @Test func `check-config shows issuer, key id and the SHA-256 of the public key, and nothing of the key`() throws {
        let key = try PrivateKey.generate(.p256)
        try write("\(Self.issuer)/SubscriptionKey_A1.p8", key.pem)
        let report = try reader().check(.worker)
        let digest = Digest.sha256(key.publicKey.der).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(report.contains("issuer \(Self.issuer) key A1 SHA-256 \(digest)"))
        #expect(!report.contains(key.pem.split(separator: "\n")[1]))
    }

    @Test(arguments: [
        ("https://api.storekit.apple.com", "https://api.storekit.apple.com"), ("https://a.b/", "https://a.b"),
        ("http://127.0.0.1:8443", "http://127.0.0.1:8443"),
    ])
    func `hosts are https, or http on this machine`(text: String, expected: String) throws {
        #expect(try SettingValue.serverAPIURL(text) == expected)
    }

    @Test(arguments: [
        "http://api.storekit.apple.com", "https://a.b/path", "https://u:p@a.b", "https://a.b?x", "api.storekit.apple.com", "",
    ])
    func `other addresses are refused`(text: String) {
        #expect(throws: InvalidSettingValue.self) { try SettingValue.serverAPIURL(text) }
    }

    @Test func `a changed key differs after a reload`() throws {
        try write("\(Self.issuer)/SubscriptionKey_A1.p8", try PrivateKey.generate(.p256).pem)
        let old = try SettingsInForce(reader(), .worker)
        #expect(try SettingsInForce(reader(), .worker).differences(from: old) == [])
        try write("\(Self.issuer)/SubscriptionKey_A1.p8", try PrivateKey.generate(.p256).pem)
        #expect(try SettingsInForce(reader(), .worker).differences(from: old) == ["api-keys-directory"])
        #expect(ReloadableWorker.settings.isSuperset(of: ["api-keys-directory", "api-issuers"]))
    }
}
