import StrictJSON

/// A decision how to answer; `appstore.answer_consumption` checks it.
struct ConsumptionAnswer: Sendable {
    let consented: Bool?
    let delivery: String?
    let sample: Bool?
    let percentage: Int32?
    let preference: String?
    let evidence: String?
    let details: JSONObject?
}
