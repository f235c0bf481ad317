import AppStore
import AppStoreVerification
import ArgumentParser
import FoundationEssentials
import StrictJSON

/// `appstore-inbox verify`: verifies that data is signed by Apple, and prints its content.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Verifies a compact JWS, a receipt or a notification's body from Apple, and prints the verdict.",
        discussion: """
            The command detects the kind of its input. A receipt may be binary or in base64. Of a notification V1 only the receipt is \
            signed, so that only the receipt is verified. Without --bundle-id or --environment any app or environment is accepted. An \
            option about a member that the payload lacks is ignored. Exit codes: 0 valid, 1 invalid, 2 wrong usage or unreadable input.
            """
    )

    @Argument(help: "The file to read; - for standard input.") var file = "-"
    @Option(help: "An app that is accepted; may be given several times.") var bundleId: [String] = []
    @Option(help: "The app's Apple id, required of Production payloads that hold one.") var appAppleId: Int64?
    @Option(help: "Production or Sandbox; may be given several times.") var environment: [String] = []
    @Option(help: "A root certificate (PEM or DER) instead of Apple's, for any environment; may be given several times.")
    var root: [String] = []
    @Flag var form = VerifyForm.json

    func validate() throws {
        for name in environment where !KnownWords.environments.words.contains(name) {
            throw ValidationError("--environment must be Production or Sandbox, not \"\(name)\"")
        }
    }

    func run() throws {
        let report: VerifyReport
        do {
            report = try VerifyInput(file: file).report(demands())
        } catch let error as VerifyInput.Unreadable {
            throw ValidationError(error.description)
        } catch let error as RootFile.Unusable {
            throw ValidationError("--root \(error)")
        }
        print(form == .json ? JSONSerializer.text(report.json) : report.text)
        throw report.isValid ? ExitCode.success : ExitCode(1)
    }

    private func demands() throws(RootFile.Unusable) -> VerifyDemands {
        var roots: [TrustedRoot] = []
        for path in root {
            roots += try RootFile(path: path).trusted(for: nil)
        }
        return VerifyDemands(
            bundleIDs: bundleId.isEmpty ? nil : bundleId,
            environments: environment.isEmpty ? nil : Set(environment.map(AppStoreEnvironment.init(rawValue:))),
            appAppleID: appAppleId,
            roots: root.isEmpty ? nil : roots
        )
    }
}

/// The format of the printed verdict.
enum VerifyForm: EnumerableFlag {
    case json, text

    static func help(for value: VerifyForm) -> ArgumentHelp? {
        switch value {
        case .json: "Print one JSON object (the default)."
        case .text: "Print readable text."
        }
    }
}

/// The conditions under which the command accepts signed data.
struct VerifyDemands {
    /// Nil accepts any; the same for the next two.
    let bundleIDs: [String]?
    let environments: Set<AppStoreEnvironment>?
    let appAppleID: Int64?
    /// Nil trusts Apple's roots.
    let roots: [TrustedRoot]?

    /// For JWS.
    var policy: VerificationPolicy { policy(trusting: .appleRootCAG3) }

    /// For receipts, which chain to another Apple root.
    var receiptPolicy: VerificationPolicy { policy(trusting: .appleRootCA) }

    private func policy(trusting apple: TrustedRoot) -> VerificationPolicy {
        VerificationPolicy(
            apps: bundleIDs?.map { App(bundleID: $0, appAppleID: nil) },
            environments: environments,
            roots: roots ?? [apple],
            appAppleID: appAppleID
        )
    }
}

/// The input of `appstore-inbox verify`: a compact JWS, a receipt, or a body that contains one of them.
struct VerifyInput {
    /// Input that cannot be read.
    struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }

    private let bytes: [UInt8]

    /// Reads a file, or standard input for `-`.
    init(file: String) throws(Unreadable) {
        do throws(ReadableFile.Unreadable) {
            bytes = try file == "-" ? ReadableFile.standardInput() : ReadableFile.bytes(at: file)
        } catch {
            throw Unreadable(description: "\(file) cannot be read: \(error)")
        }
        guard bytes.contains(where: { $0 != 0x20 && !(0x09...0x0d).contains($0) }) else {
            throw Unreadable(description: "\(file): is empty. Expected is \(UnknownForm.expected.joined(separator: ", or ")).")
        }
    }

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Verifies the input under these conditions, as received now.
    func report(_ demands: VerifyDemands) throws -> VerifyReport {
        let diagnostics = VerificationDiagnostics()
        var report = try report(demands, diagnostics)
        report.json["verification"] = diagnostics.parts.json
        return report
    }

    private func report(_ demands: VerifyDemands, _ diagnostics: VerificationDiagnostics) throws -> VerifyReport {
        let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        switch SignedInput(bytes[...]) {
        case .jws(let jws):
            return try VerifyReport(Verifier(policy: demands.policy).verifyAny(jws, receivedAt: now, diagnostics: diagnostics))
        case .notificationV2(let body):
            let jws: ArraySlice<UInt8>
            do throws(NotificationBody.Refusal) {
                jws = try NotificationBody.signedPayload(in: body)
            } catch {
                return VerifyReport(invalid: error.rawValue, at: VerifyReport.bodyLocation, detail: UnknownForm.words(for: error.rawValue))
            }
            return try VerifyReport(Verifier(policy: demands.policy).verifyAny(jws, receivedAt: now, diagnostics: diagnostics))
        case .notificationV1(let body):
            return NotificationV1Report(body, demands, receivedAt: now, diagnostics).report
        case .unknownJSON(let refusal):
            return VerifyReport(invalid: refusal.rawValue, at: VerifyReport.bodyLocation, detail: UnknownForm.words(for: refusal.rawValue))
        case .receipt(let receipt):
            if let form = UnknownForm(receipt) {
                return VerifyReport(invalid: UnknownForm.reason, at: VerifyReport.bodyLocation, detail: form.words)
            }
            return VerifyReport(ReceiptVerifier(policy: demands.receiptPolicy).verify(receipt, receivedAt: now, diagnostics: diagnostics))
        }
    }
}

/// Input that is nothing that Apple signs, in words for a person.
private struct UnknownForm {
    /// The reason in the report.
    static let reason = "unknown_form"
    /// Every form of input that can be verified.
    static let expected = [
        "a signed payload (three base64url parts separated by dots)", "a receipt (binary or in base64)",
        "the JSON of a notification V2 or V1",
    ]

    private let bytes: ArraySlice<UInt8>

    /// Nil for bytes that look like a receipt.
    init?(_ bytes: ArraySlice<UInt8>) {
        switch ReceiptInput(bytes) {
        case .appReceipt, .transactionReceipt: return nil
        case .other, .notBase64, .empty: self.bytes = bytes
        }
    }

    /// Shows four bytes only: enough to recognise a file's format, and too few to disclose a secret.
    var words: String {
        let first = bytes.prefix(4)
        let isText = first.allSatisfy { (0x20...0x7e).contains($0) }
        let shown =
            isText
            ? "\"\(String(decoding: first, as: UTF8.self))\""
            : first.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
        return "neither \(Self.expected.joined(separator: ", nor ")): it begins with \(shown)"
    }

    /// What is wrong with JSON that is no notification; nil for other reasons.
    static func words(for reason: String) -> String? {
        switch reason {
        case "not_json": "it begins like JSON, and is not valid JSON"
        case "no_notification_type": "JSON without the text signedPayload of a notification V2 and without the notification_type of V1"
        case "not_a_compact_jws": "signedPayload is not three base64url parts separated by dots"
        default: nil
        }
    }
}
