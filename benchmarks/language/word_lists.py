"""Word lists of common knowledge: pairs with the same relation, and groups of one kind."""

from __future__ import annotations

RELATIONS: dict[str, str] = {
    "capital and country": (
        "athens-greece baghdad-iraq bangkok-thailand beijing-china berlin-germany "
        "bern-switzerland brussels-belgium bucharest-romania budapest-hungary cairo-egypt "
        "canberra-australia copenhagen-denmark dublin-ireland hanoi-vietnam havana-cuba "
        "helsinki-finland islamabad-pakistan jakarta-indonesia kabul-afghanistan kathmandu-nepal "
        "kiev-ukraine lima-peru lisbon-portugal london-england madrid-spain manila-philippines "
        "moscow-russia nairobi-kenya oslo-norway ottawa-canada paris-france prague-czechoslovakia "
        "riga-latvia rome-italy santiago-chile seoul-korea sofia-bulgaria stockholm-sweden "
        "taipei-taiwan tallinn-estonia tehran-iran tokyo-japan vienna-austria vilnius-lithuania "
        "warsaw-poland zagreb-croatia belgrade-serbia ankara-turkey damascus-syria beirut-lebanon "
        "dhaka-bangladesh caracas-venezuela bogotá-colombia quito-ecuador"
    ),
    "country and nationality": (
        "albania-albanian argentina-argentine australia-australian austria-austrian "
        "belgium-belgian brazil-brazilian bulgaria-bulgarian canada-canadian chile-chilean "
        "china-chinese colombia-colombian croatia-croatian cuba-cuban denmark-danish "
        "egypt-egyptian england-english finland-finnish france-french germany-german greece-greek "
        "hungary-hungarian india-indian iran-iranian iraq-iraqi ireland-irish israel-israeli "
        "italy-italian japan-japanese korea-korean mexico-mexican netherlands-dutch "
        "norway-norwegian pakistan-pakistani peru-peruvian philippines-filipino poland-polish "
        "portugal-portuguese romania-romanian russia-russian scotland-scottish serbia-serbian "
        "spain-spanish sweden-swedish switzerland-swiss thailand-thai turkey-turkish "
        "ukraine-ukrainian vietnam-vietnamese wales-welsh africa-african america-american "
        "europe-european asia-asian"
    ),
    "male and female": (
        "boy-girl brother-sister brothers-sisters father-mother fathers-mothers "
        "grandfather-grandmother he-she his-her husband-wife king-queen man-woman men-women "
        "nephew-niece prince-princess son-daughter sons-daughters uncle-aunt actor-actress "
        "duke-duchess him-herself himself-herself boys-girls male-female males-females "
        "emperor-empress monk-nun gentleman-lady lord-lady"
    ),
    "plural": (
        "album-albums animal-animals area-areas artist-artists bird-birds book-books boy-boys "
        "building-buildings car-cars child-children city-cities club-clubs color-colors "
        "company-companies country-countries culture-cultures design-designs dog-dogs eye-eyes "
        "family-families film-films flower-flowers game-games girl-girls group-groups hand-hands "
        "horse-horses house-houses idea-ideas island-islands king-kings language-languages "
        "law-laws leader-leaders machine-machines man-men member-members mountain-mountains "
        "novel-novels player-players river-rivers road-roads school-schools ship-ships song-songs "
        "station-stations street-streets student-students system-systems teacher-teachers "
        "team-teams tree-trees village-villages war-wars woman-women word-words writer-writers "
        "year-years"
    ),
    "comparative": (
        "bad-worse big-bigger cheap-cheaper close-closer dark-darker deep-deeper early-earlier "
        "easy-easier fast-faster good-better great-greater hard-harder heavy-heavier high-higher "
        "large-larger late-later long-longer low-lower old-older poor-poorer short-shorter "
        "simple-simpler slow-slower small-smaller strong-stronger tall-taller warm-warmer "
        "weak-weaker wide-wider young-younger light-lighter near-nearer new-newer"
    ),
    "superlative": (
        "bad-worst big-biggest early-earliest fast-fastest good-best great-greatest high-highest "
        "large-largest late-latest long-longest low-lowest old-oldest rich-richest short-shortest "
        "small-smallest strong-strongest tall-tallest young-youngest near-nearest new-newest "
        "hard-hardest deep-deepest close-closest"
    ),
    "past tense": (
        "appear-appeared become-became begin-began bring-brought build-built buy-bought "
        "call-called carry-carried change-changed come-came create-created decide-decided "
        "describe-described die-died draw-drew drive-drove fall-fell feel-felt fight-fought "
        "find-found follow-followed get-got give-gave go-went grow-grew hear-heard help-helped "
        "hold-held include-included keep-kept know-knew lead-led leave-left lose-lost make-made "
        "meet-met move-moved open-opened play-played provide-provided receive-received "
        "remain-remained run-ran say-said see-saw sell-sold send-sent serve-served show-showed "
        "speak-spoke start-started take-took teach-taught tell-told think-thought turn-turned "
        "use-used win-won write-wrote work-worked"
    ),
    "present participle": (
        "build-building call-calling carry-carrying change-changing come-coming create-creating "
        "describe-describing do-doing feel-feeling find-finding follow-following get-getting "
        "give-giving go-going grow-growing help-helping hold-holding include-including "
        "keep-keeping lead-leading leave-leaving live-living look-looking lose-losing make-making "
        "move-moving play-playing produce-producing provide-providing run-running say-saying "
        "see-seeing sell-selling serve-serving show-showing sing-singing speak-speaking "
        "start-starting take-taking teach-teaching tell-telling train-training travel-traveling "
        "try-trying use-using walk-walking win-winning work-working write-writing"
    ),
    "adverb": (
        "actual-actually apparent-apparently common-commonly complete-completely "
        "current-currently direct-directly effective-effectively eventual-eventually "
        "final-finally frequent-frequently full-fully general-generally high-highly "
        "immediate-immediately initial-initially main-mainly original-originally "
        "particular-particularly previous-previously primary-primarily quick-quickly "
        "rapid-rapidly recent-recently significant-significantly similar-similarly slow-slowly "
        "special-specially strong-strongly successful-successfully usual-usually wide-widely"
    ),
}

GROUPS: dict[str, str] = {
    "color": "red blue green yellow white black brown orange purple pink grey gray silver gold",
    "month": (
        "january february march april may june july august september october november december"
    ),
    "weekday": "monday tuesday wednesday thursday friday saturday sunday",
    "number": "two three four five six seven eight nine ten eleven twelve twenty thirty",
    "ordinal": "first second third fourth fifth sixth seventh eighth ninth tenth",
    "animal": (
        "dog cat horse cow sheep pig goat wolf bear lion tiger elephant monkey rat mouse rabbit "
        "fox deer snake frog"
    ),
    "bird": "eagle hawk owl duck goose swan crow falcon chicken",
    "family": (
        "father mother brother sister son daughter wife husband uncle aunt grandfather "
        "grandmother nephew niece cousin"
    ),
    "country": (
        "france germany italy spain portugal poland hungary austria sweden norway denmark finland "
        "greece turkey russia ukraine china japan india iran iraq egypt brazil argentina chile "
        "peru mexico canada australia"
    ),
    "capital": (
        "paris berlin rome madrid lisbon warsaw budapest vienna stockholm oslo copenhagen "
        "helsinki athens moscow kiev beijing tokyo tehran baghdad cairo lima london dublin prague"
    ),
    "state": (
        "california texas florida ohio michigan illinois pennsylvania virginia georgia alabama "
        "tennessee kentucky indiana wisconsin minnesota missouri kansas nebraska iowa oregon "
        "nevada arizona colorado utah"
    ),
    "language": (
        "english french german spanish italian portuguese dutch russian arabic chinese japanese "
        "latin greek hebrew turkish polish hungarian swedish"
    ),
    "sport": (
        "football soccer basketball baseball hockey tennis rugby cricket golf volleyball boxing "
        "wrestling swimming cycling handball"
    ),
    "musical instrument": (
        "guitar piano violin drums bass flute trumpet saxophone cello organ keyboards clarinet harp"
    ),
    "music genre": "rock pop jazz blues metal punk folk country hop classical soul disco reggae",
    "profession": (
        "lawyer doctor teacher engineer journalist architect physician nurse farmer soldier "
        "merchant banker photographer painter sculptor"
    ),
    "writer": (
        "poet novelist writer author playwright screenwriter essayist historian journalist critic"
    ),
    "religion": "christianity islam judaism buddhism catholicism",
    "science": (
        "physics chemistry biology mathematics astronomy geology psychology sociology economics "
        "philosophy linguistics medicine"
    ),
    "part of the body": (
        "head neck arm leg hand foot finger eye ear nose mouth tooth tongue shoulder knee chest"
    ),
    "vehicle": "car truck bus train bicycle motorcycle aircraft helicopter ship boat tram taxi",
    "metal": "gold silver iron copper steel lead zinc tin aluminum nickel",
    "building": "church castle palace temple mosque cathedral chapel monastery tower mansion abbey",
    "education": "school university college academy institute seminary",
    "military rank": (
        "captain major colonel general lieutenant sergeant admiral commander brigadier"
    ),
    "title of nobility": "king queen prince princess duke duchess emperor empress baron earl count",
    "body of water": "river lake sea ocean stream creek bay lagoon pond canal",
    "landform": "mountain hill valley forest desert plain plateau island peninsula cliff",
    "food": "bread rice meat fish cheese butter milk sugar egg fruit corn wheat potato vegetables",
    "drink": "wine beer coffee tea milk water juice whisky",
    "unit of length or area": (
        "kilometers miles meters feet inches yards kilometres metres acres hectares"
    ),
    "direction": "north south east west northeast northwest southeast southwest",
    "clothing": "shirt dress hat coat shoes jacket skirt boots gloves",
    "first name of a man": (
        "john james william robert thomas charles george henry david michael peter paul richard"
    ),
    "first name of a woman": (
        "mary elizabeth anne margaret catherine sarah jane alice maria anna helen emma"
    ),
    "plant": "tree flower grass shrub herb fern moss bush",
    "modal": "can could will would may might should must shall",
    "preposition": "in on at by with from under over between through against during",
    "role in a team": "coach player goalkeeper defender midfielder striker forward captain manager",
    "media": "newspaper magazine journal book novel album film television radio",
}
