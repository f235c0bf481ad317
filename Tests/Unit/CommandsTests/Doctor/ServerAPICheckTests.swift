import AppStore
import Foundation
import OpenSSL
import Outbox
import Testing

@testable import Commands

/// What `doctor` says of the keys, with the answers of an Apple that accepts some of them.
@Suite struct ServerAPICheckTests {
    private static let issuer = "57246542-96fe-1a63-e053-0824d011072a"
    private static let other = "69a6de70-0000-47e3-e053-5b8c7c11a4d1"
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func write(_ issuer: String, _ keyID: String) throws {
        let url = folder.url.appending(path: issuer)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data(try PrivateKey.generate(.p256).pem.utf8).write(to: url.appending(path: "SubscriptionKey_\(keyID).p8"))
    }

    /// The findings about apps, where Apple answers 404 to tokens of that key and to hosts with that text, else 401.
    private func findings(accepts keyID: String, at host: String = "https", date: String? = nil) async throws -> [Finding] {
        let flags = ["database-url": "host=/x", "apps": "com.example.a", "api-keys-directory": folder.url.path]
        let reader = try SettingsReader(flags: flags, environment: [:])
        let lanes = [AppStoreEnvironment.production, .sandbox].map { CallLane("com.example.a", $0) }
        let exchange = Exchange { request, _ in
            let token = request.headers.first { $0.name == "authorization" }?.value.dropFirst(7).split(separator: ".").first
            let header = token.flatMap { Base64URL.decode(Array($0.utf8)) } ?? []
            guard String(decoding: header, as: UTF8.self).contains(keyID), request.url.contains(host) else {
                return .answer(HTTPAnswer(status: 401, date: date))
            }
            return .answer(HTTPAnswer(status: 404, body: Array(#"{"errorCode":4040010}"#.utf8)))
        }
        let keys = try #require(try reader.apiKeys()).keys
        let all = await DoctorCheck.findings(keys, try ServerAPISettings(reader), lanes, through: exchange)
        #expect(all.prefix(keys.count).allSatisfy { $0.status == .ok && $0.subject.hasPrefix("key ") })
        return Array(all.dropFirst(keys.count))
    }

    @Test func `an answer about a made-up transaction proves the key`() async throws {
        try write(Self.issuer, "A1")
        let expected = ["Production", "Sandbox"].map { Finding.ok("com.example.a \($0)", "Apple accepts the key") }
        #expect(try await findings(accepts: "A1") == expected)
    }

    @Test func `a key that Sandbox accepts and Production refuses is that of an app that was never released`() async throws {
        try write(Self.issuer, "A1")
        let findings = try await findings(accepts: "A1", at: "sandbox")
        #expect(findings.map(\.status) == [.failure, .ok] && findings[0].found.contains("never released"))
    }

    @Test func `a key that Apple refuses everywhere is a failure with what to compare`() async throws {
        try write(Self.issuer, "A1")
        let findings = try await findings(accepts: "B2")
        #expect(findings.map(\.status) == [.failure, .failure] && findings[0].found.contains("revoked"))
        #expect(findings[0].remedy?.contains("App Store Connect") == true)
    }

    @Test func `a wrong clock is named`() async throws {
        try write(Self.issuer, "A1")
        let findings = try await findings(accepts: "B2", date: "Mon, 21 Sep 2020 14:13:20 GMT")
        #expect(findings[0].found.contains("ahead of Apple's") && findings[0].remedy?.contains("synchronise") == true)
    }

    @Test func `of several issuers the one that Apple accepts is found by asking`() async throws {
        try write(Self.issuer, "A1")
        try write(Self.other, "B2")
        let findings = try await findings(accepts: "B2")
        #expect(findings.map(\.status) == [.warning] && findings[0].remedy == "add com.example.a=\(Self.other) to api-issuers")
        #expect(try await self.findings(accepts: "C3").map(\.status) == [.failure])
    }
}
