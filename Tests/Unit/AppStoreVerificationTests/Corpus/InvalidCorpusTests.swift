import AppStore
import CorpusTesting
import Foundation
import OpenSSL
import Testing

@testable import AppStoreVerification

/// JWS from public places that Apple did not sign for the App Store, and the fixtures of Apple's own library with its verdicts.
@Suite(.enabled(if: !Corpus.isAbsent, "APPSTORE_INBOX_CORPUS is not set"))
struct InvalidCorpusTests {
    private static let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))

    private struct Entry: CorpusEntry {
        let file: String
    }

    private static let reasons: [String: VerificationReason] = [
        "01-mock-TEST.jws": .x5cMissing,
        "02-mock-other.jws": .untrustedRoot,
        "03-mock-TEST.jws": .untrustedRoot,
        "04-mock-other.jws": .untrustedRoot,
        "05-mock-TEST.jws": .signedDateMissing,
        "06-huawei-iap-not-apple-EXPIRE.jws": .signedDateMissing,
        "07-xcode-signed-apptransaction.jws": .x5cCount,
        "08-xcode-signed-renewalinfo.jws": .x5cCount,
        "09-xcode-signed-transaction.jws": .x5cCount,
        "10-truncated-other.jws": .payloadNotBase64URL,
        "11-xcode-signed-transaction.jws": .x5cCount,
        "12-mock-TEST.jws": .chainBroken,
        "13-mock-other.jws": .untrustedRoot,
    ]

    @Test func `each foreign JWS is refused with its reason`() throws {
        let entries = try Corpus.index(of: "invalid", as: Entry.self)
        #expect(entries.count == Self.reasons.count)
        let verifier = Verifier(policy: VerificationPolicy(apps: nil, environments: nil))
        for entry in entries {
            let jws = ArraySlice(try Corpus.text("invalid/\(entry.file)").utf8)
            #expect(verifier.verifyAny(jws, receivedAt: Self.now).rejection?.reason == Self.reasons[entry.file], "\(entry.file)")
        }
    }

    @Test func `the verdicts on Apple's fixtures are those of Apple's library, with two exceptions`() throws {
        let verdicts = try LibraryVerdict.all()
        #expect(verdicts.count == 30)
        for item in verdicts {
            let rejection = Verifier(policy: try item.policy()).verifyAny(try item.jws()[...], receivedAt: Self.now).rejection
            if item.isValid, item.environment == .xcode {
                // The library verifies no signature of Xcode.
                #expect(rejection?.reason == .x5cCount, "\(item)")
            } else if item.isValid, item.isFragment {
                // Genuine below the test root, but without the members that tell a transaction from a renewal info.
                #expect(rejection?.reason == .wrongKind, "\(item)")
            } else {
                #expect((rejection == nil) == item.isValid, "\(item): \(String(describing: rejection))")
            }
        }
    }

    @Test(arguments: ["a.b.c", "a.b.c.d", "", "...", "x"])
    func `text that Apple's library refuses is refused`(text: String) {
        let verifier = Verifier(policy: VerificationPolicy(apps: nil, environments: nil))
        #expect(verifier.verifyAny(ArraySlice(text.utf8), receivedAt: Self.now).rejection != nil)
    }
}

/// One line of `apple-library-verdicts.txt` about a file, such as
/// `notification testNotification env=Sandbox bundle=com.example appAppleId=1234 root=testCA -> VALID …`.
private struct LibraryVerdict: CustomStringConvertible {
    let description: String
    let isValid: Bool
    let file: String
    let environment: AppStoreEnvironment
    /// Nil for any.
    let bundleID: String?
    let appAppleID: Int64?
    let isBelowTestRoot: Bool
    /// Whether the payload has no more than environment, bundle and signedDate.
    var isFragment: Bool { file.hasSuffix("/transactionInfo") || file.hasSuffix("/renewalInfo") }

    init?(_ line: Substring) {
        let halves = line.split(separator: " -> ")
        guard halves.count == 2 else { return nil }
        let words = halves[0].split(separator: " ").map(String.init)
        let options = Dictionary(
            words.compactMap { word in
                let pair = word.split(separator: "=", maxSplits: 1).map(String.init)
                return pair.count == 2 ? (pair[0], pair[1]) : nil
            },
            uniquingKeysWith: { $1 }
        )
        description = String(line)
        isValid = halves[1].hasPrefix("VALID")
        if words.count >= 3, words[0] == "notification", let environment = options["env"] {
            (file, self.environment) = ("mock_signed_data/\(words[1])", AppStoreEnvironment(rawValue: environment))
            (bundleID, appAppleID) = (options["bundle"], options["appAppleId"].flatMap(Int64.init))
            isBelowTestRoot = options["root"] == "testCA"
        } else if words.count >= 2, ["transactionInfo", "renewalInfo"].contains(words[0]) {
            (file, environment) = ("mock_signed_data/\(words[0])", AppStoreEnvironment(rawValue: words[1]))
            (bundleID, appAppleID, isBelowTestRoot) = (words.count > 2 ? words[2] : nil, nil, true)
        } else if let first = words.first, first.hasPrefix("xcode-signed"), let environment = options["env"] {
            (file, self.environment) = ("xcode/\(first)", AppStoreEnvironment(rawValue: environment))
            (bundleID, appAppleID, isBelowTestRoot) = (nil, nil, false)
        } else {
            return nil
        }
    }

    static func all() throws -> [LibraryVerdict] {
        try Corpus.text("apple-library-verdicts.txt").split(separator: "\n").compactMap(LibraryVerdict.init)
    }

    func jws() throws -> [UInt8] { Array(try Corpus.text("apple-fixtures/\(file)").utf8) }

    func policy() throws -> VerificationPolicy {
        let test = try TrustedRoot(Certificate(der: try Corpus.bytes("apple-fixtures/certs/testCA.der")), environments: nil)
        let app = bundleID.map { App(bundleID: $0, appAppleID: appAppleID) }
        return VerificationPolicy(
            apps: app.map { [$0] },
            environments: [environment],
            roots: isBelowTestRoot ? [.appleRootCAG3, test] : [.appleRootCAG3]
        )
    }
}
