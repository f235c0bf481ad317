/// A JSON object with ordered members and unique names.
package struct JSONObject: Hashable, Sendable {
    /// One member of an object.
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// The members in source order.
    package private(set) var members: [Member]

    /// An object without members.
    package init() {
        members = []
    }

    /// Creates an object; a repeated name keeps its first position and takes its last value.
    package init(_ pairs: some Sequence<(String, JSONValue)>) {
        members = []
        for (name, value) in pairs { self[name] = value }
    }

    /// Creates an object from members whose names the caller knows to be unique.
    package init(uniqueMembers: [Member]) {
        members = uniqueMembers
    }

    /// The value of a member, `nil` when absent. Setting replaces in place or appends; setting `nil` removes.
    package subscript(name: String) -> JSONValue? {
        get {
            index(of: name).map { members[$0].value }
        }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): members[index].value = value
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (let index?, nil): members.remove(at: index)
            case (nil, nil): break
            }
        }
    }

    /// Compares lengths first: most names differ in length, and string comparison is far slower.
    private func index(of name: String) -> Int? {
        let length = name.utf8.count
        return members.firstIndex { $0.name.utf8.count == length && $0.name == name }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }
}
