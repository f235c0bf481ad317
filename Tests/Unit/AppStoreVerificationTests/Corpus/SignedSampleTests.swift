import AppStore
import CorpusTesting
import Foundation
import Testing

@testable import AppStoreVerification

/// Payloads that Apple signed.
@Suite(.enabled(if: !SignedSample.areAbsent, "neither APPSTORE_INBOX_CORPUS nor APPSTORE_INBOX_SAMPLES is set"))
struct SignedSampleTests {
    private static let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))

    @Test func `each is valid below the built-in root, and holds what the index says`() throws {
        let samples = try SignedSample.all()
        #expect(samples.count >= (Corpus.isAbsent ? 6 : 73))
        let verifier = Verifier(policy: VerificationPolicy(apps: nil, environments: nil))
        for sample in samples {
            guard let payload = verifier.verifyAny(try sample.jws()[...], receivedAt: Self.now).accepted(sample.file) else { continue }
            #expect(payload.environment?.rawValue == sample.environment, "\(sample.file)")
            if let date = sample.signedDate { #expect(payload.signedDate.millisecondsSince1970 == date, "\(sample.file)") }
            switch payload {
            case .notification(let verified):
                #expect(sample.kind == "notification", "\(sample.file)")
                #expect(verified.notification.value.notificationType?.rawValue == sample.notificationType, "\(sample.file)")
                #expect(verified.notification.value.subtype?.rawValue == sample.subtype, "\(sample.file)")
                #expect(verified.bundleID == sample.bundleId, "\(sample.file)")
                #expect(verified.notification.value.data?.appAppleId == sample.appAppleId, "\(sample.file)")
            case .transaction(let verified):
                #expect(sample.kind == "transaction" && verified.value.bundleId == sample.bundleId, "\(sample.file)")
            case .renewalInfo: #expect(sample.kind == "renewalinfo", "\(sample.file)")
            case .appTransaction(let verified):
                #expect(sample.kind == "apptransaction" && verified.value.bundleId == sample.bundleId, "\(sample.file)")
            }
        }
    }

    @Test func `each is valid for its own app and environment only`() throws {
        for sample in try SignedSample.all() {
            let store = try TestStore.genuine.get()
            #expect(try reason(sample, try store.policy()) == .untrustedRoot, "\(sample.file)")
            guard let bundleID = sample.bundleId else { continue }
            let apps = [App(bundleID: bundleID, appAppleID: sample.appAppleId)]
            let environment = sample.environment.map(AppStoreEnvironment.init(rawValue:))
            let own = VerificationPolicy(apps: apps, environments: [environment ?? .sandbox])
            #expect(try reason(sample, own) == nil, "\(sample.file)")
            let other = VerificationPolicy(apps: apps, environments: [environment == .production ? .sandbox : .production])
            // Where none is named, what is around the payload decides.
            #expect(try reason(sample, other) == (environment == nil ? nil : .wrongEnvironment), "\(sample.file)")
            #expect(
                try reason(sample, VerificationPolicy(apps: [App(bundleID: "a.b")], environments: nil)) == .wrongBundle,
                "\(sample.file)"
            )
        }
    }

    /// A root that is trusted for the sandbox alone vouches for no payload that could be of Production.
    @Test(.enabled(if: !Corpus.isAbsent, "APPSTORE_INBOX_CORPUS is not set"))
    func `a payload without environment needs a root that is trusted for both`() throws {
        let unnamed = try SignedSample.all().filter { $0.environment == nil }
        #expect(unnamed.count == 7)
        let root = try TrustedRoot(TrustedRoot.appleRootCAG3.certificate, environments: [.sandbox])
        for sample in unnamed {
            let policy = VerificationPolicy(apps: nil, environments: nil, roots: [root])
            #expect(try reason(sample, policy) == .environmentNotTrustedByRoot, "\(sample.file)")
        }
    }

    private func reason(_ sample: SignedSample, _ policy: VerificationPolicy) throws -> VerificationReason? {
        Verifier(policy: policy).verifyAny(try sample.jws()[...], receivedAt: Self.now).rejection?.reason
    }
}

extension Verdict {
    /// Records an issue unless the verdict is valid.
    fileprivate func accepted(_ file: String) -> Value? {
        switch self {
        case .valid(let value): return value
        case .invalid(let rejection):
            Issue.record("\(file): \(rejection)")
            return nil
        }
    }
}

extension VerifiedPayload {
    fileprivate var signedDate: Timestamp {
        switch self {
        case .notification(let verified): verified.notification.signedDate
        case .transaction(let signed): signed.signedDate
        case .renewalInfo(let signed): signed.signedDate
        case .appTransaction(let signed): signed.signedDate
        }
    }
}
