import AppStore
import AppStoreVerification
import FoundationEssentials

/// What `appstore-inbox verify` is given: a compact JWS, or a body with one in it.
struct VerifyInput {
    /// Why there is nothing to verify.
    struct Unreadable: Error, CustomStringConvertible {
        let description: String
    }

    private let bytes: ArraySlice<UInt8>

    /// Reads a file, or standard input for `-`; white space around the content does not belong to it.
    init(file: String) throws(Unreadable) {
        do {
            bytes = [UInt8](try Data(contentsOf: URL(filePath: file == "-" ? "/dev/stdin" : file)))[...].trimmingWhitespace()
        } catch {
            throw Unreadable(description: "\(file): cannot be read")
        }
        guard !bytes.isEmpty else { throw Unreadable(description: "\(file): is empty") }
    }

    /// Verifies it by that policy, as received now.
    func report(policy: VerificationPolicy) throws -> VerifyReport {
        let jws: ArraySlice<UInt8>
        if bytes.first == UInt8(ascii: "{") {
            do throws(NotificationBody.Refusal) {
                jws = try NotificationBody.signedPayload(in: Array(bytes))
            } catch {
                return VerifyReport(invalid: error.rawValue, at: "body")
            }
        } else {
            jws = bytes
        }
        let now = Timestamp(millisecondsSince1970: Int64(Date().timeIntervalSince1970 * 1000))
        return try VerifyReport(Verifier(policy: policy).verifyAny(jws, receivedAt: now))
    }
}

extension ArraySlice<UInt8> {
    fileprivate func trimmingWhitespace() -> ArraySlice<UInt8> {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0d).contains($0) }
        guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) }) else { return [] }
        return self[first...last]
    }
}
