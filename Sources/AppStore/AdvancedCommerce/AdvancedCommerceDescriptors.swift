/// Advanced Commerce: what the customer sees of a subscription.
package struct AdvancedCommerceDescriptors: PayloadObject {
    package let description: String?
    package let displayName: String?

    package enum Member: String, CaseIterable {
        case description, displayName
    }

    package init(_ json: JSONObject) throws(MalformedPayload) {
        let members = MemberReader<Member>(json)
        description = try members.string(.description)
        displayName = try members.string(.displayName)
    }
}
