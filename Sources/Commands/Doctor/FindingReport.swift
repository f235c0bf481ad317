import StrictJSON

/// The findings of all checks, as `doctor` prints them.
struct FindingReport: Sendable {
    /// In the order of ``DoctorCheck/all``.
    let findings: [(group: DoctorCheck.Group, finding: Finding)]

    var worst: Finding.Status { findings.map(\.finding.status).max() ?? .ok }

    var json: JSONObject {
        let list = findings.map { group, finding in
            JSONValue.object([
                "group": .string(group.rawValue), "subject": .string(finding.subject), "status": .string(finding.status.rawValue),
                "found": .string(finding.found), "remedy": .optional(finding.remedy),
            ])
        }
        return ["status": .string(worst.rawValue), "findings": .array(list)]
    }

    /// A line for each finding, below the name of its group.
    func text(inColour: Bool) -> String {
        let width = findings.map(\.finding.subject.count).max() ?? 0
        return DoctorCheck.Group.allCases.map { group in
            let lines = findings.filter { $0.group == group }.map { Self.line($0.finding, width, inColour) }
            return ([group.rawValue] + lines).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private static func line(_ finding: Finding, _ width: Int, _ inColour: Bool) -> String {
        let remedy = finding.remedy.map { ". \($0.prefix(1).uppercased())\($0.dropFirst())" } ?? ""
        let what = "\(finding.subject.padded(to: width))  \(finding.found)\(remedy)".shownSafely.replacing("\n", with: " ")
        let status = finding.status.rawValue.padded(to: 7)
        return "  \(inColour ? finding.status.coloured(status) : status)  \(what)"
    }
}

extension Finding.Status {
    fileprivate func coloured(_ text: String) -> String {
        let code =
            switch self {
            case .ok: 32
            case .warning: 33
            case .failure: 31
            }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}
