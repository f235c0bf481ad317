import AppStore
import AppStoreVerification
import FoundationEssentials
import StrictJSON

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
