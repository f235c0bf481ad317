import AppStore
import Foundation
import Interpretation
import OpenSSL
import Outbox
import StoreSimulator
import Testing

@testable import Commands

/// The settings for receipts and notifications V1, without the secrets.
@Suite struct LegacySettingsTests {
    private let worker = ["database-url": "host=/tmp", "apps": "com.example.tides"]

    private func workerSettings(_ flags: [String: String] = [:]) throws -> WorkerSettings {
        try WorkerSettings(SettingsReader(flags: worker.merging(flags) { $1 }, environment: [:]))
    }

    @Test func `a worker calls verifyReceipt by default`() throws {
        let usual = try workerSettings()
        #expect(usual.verification.verifyReceipt == .apple)
        #expect(usual.verifyReceiptURL == VerifyReceiptAddresses().production)
        #expect(usual.verifyReceiptSandboxURL == VerifyReceiptAddresses().sandbox)
        #expect(usual.outboundRoots == [])
        let other = try workerSettings(["verify-receipt": "local", "verify-receipt-url": "http://127.0.0.1:1/a"])
        #expect((other.verification.verifyReceipt, other.verifyReceiptURL) == (.local, "http://127.0.0.1:1/a"))
        #expect(throws: SettingsError.self) { try workerSettings(["verify-receipt": "both"]) }
    }

    @Test(arguments: [
        "https://buy.itunes.apple.com/verifyReceipt", "https://h", "https://h:8443/x", "http://127.0.0.1:8080/p", "http://[::1]:8080/p",
        "http://localhost/p",
    ])
    func `addresses to which secrets may be sent are accepted`(url: String) throws {
        #expect(try SettingValue.verifyReceiptURL(url) == url)
    }

    @Test(arguments: [
        "", "h", "buy.itunes.apple.com/verifyReceipt", "http://buy.itunes.apple.com/verifyReceipt", "http://127.0.0.2/",
        "http://localhost.evil/", "ftp://127.0.0.1/", "https://", "https:///x", "https://u@h/", "https://u:p@h/", "https://h/?q",
        "https://h/#f", "HTTP://h", "https://a b/", "http://127.0.0.1@evil/",
    ])
    func `addresses to which secrets must not be sent are refused`(url: String) {
        #expect(throws: InvalidSettingValue.self) { try SettingValue.verifyReceiptURL(url) }
    }

    @Test func `certificates for TLS are checked before the start, with a warning`() throws {
        let folder = try TemporaryFolder()
        let authority = try TestAuthority.generate(AuthorityOptions(around: .init(millisecondsSince1970: 1_735_689_600_000)))
        let file = try folder.write("root.pem", authority.root.pem)
        let settings = try workerSettings(["outbound-roots": "\(file), \(file)"])
        #expect(settings.outboundRoots == [file, file])
        #expect(settings.warnings.count == 2 && settings.warnings[0].hasPrefix("\(file) is trusted for outbound TLS"))
        let rubbish = try folder.write("rubbish.pem", "hunter2")
        for (path, problem) in [
            ("/nonexistent", "/nonexistent cannot be read: there is no such file"), (rubbish, "\(rubbish) holds no certificates in PEM: "),
        ] {
            let error = try #require(throws: SettingsError.self) { try workerSettings(["outbound-roots": path]) }
            #expect(error.description.hasPrefix("--outbound-roots: \(problem)") && !error.description.contains("hunter2"))
        }
    }

    @Test func `the body limit must not exceed the limits of memory and storage`() throws {
        let database = ["database-url": "host=/tmp"]
        func settings(_ flags: [String: String]) throws -> IngestSettings {
            try IngestSettings(SettingsReader(flags: database.merging(flags) { $1 }, environment: [:]))
        }
        #expect(try settings([:]).legacyBodyLimit == 4_194_304)
        #expect(try settings(["legacy-body-limit": "16384"]).legacyBodyLimit == 16_384)
        for text in ["16383", "4194305", "1 MB"] { #expect(throws: SettingsError.self) { try settings(["legacy-body-limit": text]) } }
        for limit in ["memory-limit", "hourly-byte-limit"] {
            let error = try #require(throws: SettingsError.self) { try settings([limit: "1048576"]) }
            #expect(error.description == "legacy-body-limit (default) is larger than --\(limit): no such body could be accepted")
            #expect(try settings([limit: "1048576", "legacy-body-limit": "1048576"]).legacyBodyLimit == 1_048_576)
        }
        #expect(try settings(["hourly-byte-limit": "0"]).hourlyByteLimit == nil)
    }
}
