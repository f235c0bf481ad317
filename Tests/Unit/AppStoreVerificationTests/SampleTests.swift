import AppStore
import AppStoreVerification
import Foundation
import Testing

/// Payloads that Apple signed, from outside the repository: `APPSTORE_INBOX_SAMPLES` names the folder with `index.json`.
enum Samples {
    struct Entry: Decodable, Sendable, CustomTestStringConvertible {
        var file: String
        var kind: String
        var notificationType: String?
        var environment: String
        var bundleId: String?
        var appAppleId: Int64?

        var testDescription: String { file }

        func jws() throws -> [UInt8] {
            let text = try String(contentsOf: Samples.folder.appending(path: file), encoding: .utf8)
            return Array(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
        }
    }

    static let path = ProcessInfo.processInfo.environment["APPSTORE_INBOX_SAMPLES"]
    static var folder: URL { URL(fileURLWithPath: path ?? "") }

    static func entries() throws -> [Entry] {
        guard path != nil else { return [] }
        return try JSONDecoder().decode([Entry].self, from: Data(contentsOf: folder.appending(path: "index.json")))
    }
}

@Suite(.enabled(if: Samples.path != nil, "APPSTORE_INBOX_SAMPLES is not set"))
struct SampleTests {
    private static let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))

    @Test func `Apple's payloads are valid below the built-in root`() throws {
        let verifier = Verifier(policy: VerificationPolicy(apps: nil, environments: nil))
        let entries = try Samples.entries()
        #expect(entries.count >= 6)
        for entry in entries {
            switch verifier.verifyAny(try entry.jws(), receivedAt: Self.now) {
            case .valid(.notification(let verified)):
                #expect(entry.kind == "notification")
                #expect(verified.notification.value.notificationType?.rawValue == entry.notificationType)
                #expect(verified.bundleID == entry.bundleId && verified.environment.rawValue == entry.environment)
            case .valid(.transaction(let verified)):
                #expect(entry.kind == "transaction" && verified.value.bundleId == entry.bundleId)
            case .valid(.renewalInfo): #expect(entry.kind == "renewalinfo")
            case .valid(.appTransaction): #expect(entry.kind == "apptransaction")
            case .invalid(let rejection): Issue.record("\(entry.file): \(rejection)")
            }
        }
    }

    @Test func `payloads are valid for their own app and environment only`() throws {
        for entry in try Samples.entries() where entry.bundleId != nil {
            let apps = [App(bundleID: entry.bundleId ?? "", appAppleID: entry.appAppleId)]
            #expect(reason(entry, VerificationPolicy(apps: apps, environments: [.sandbox])) == nil)
            #expect(reason(entry, VerificationPolicy(apps: apps, environments: [.production])) == .wrongEnvironment)
            #expect(reason(entry, VerificationPolicy(apps: [App(bundleID: "a.b")], environments: nil)) == .wrongBundle)
            let store = try TestStore.genuine.get()
            #expect(reason(entry, try store.policy()) == .untrustedRoot)
        }
    }

    private func reason(_ entry: Samples.Entry, _ policy: VerificationPolicy) -> VerificationReason? {
        do {
            switch Verifier(policy: policy).verifyAny(try entry.jws(), receivedAt: Self.now) {
            case .valid: return nil
            case .invalid(let rejection): return rejection.reason
            }
        } catch {
            Issue.record(error)
            return nil
        }
    }
}
