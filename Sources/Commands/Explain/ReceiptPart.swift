import AppStore
import AppStoreVerification
import StrictJSON

/// A receipt in an event, and what is said of it by the settings of now.
struct ReceiptPart {
    /// The member that holds it.
    let location: String
    let verdict: Verdict<VerifiedReceipt>

    /// Whether a configured root vouches for it; it may be refused all the same.
    var isGenuine: Bool {
        switch verdict {
        case .valid: true
        case .invalid(let rejection): rejection.receipt != nil
        }
    }

    /// What it says, when it is valid.
    var payload: JSONObject? {
        guard case .valid(let receipt) = verdict else { return nil }
        return ReceiptReport(receipt).json
    }

    var rejection: Rejection? {
        guard case .invalid(let rejection) = verdict else { return nil }
        return rejection
    }
}
