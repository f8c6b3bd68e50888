"""National numbers: the python-stdnum module that checks each, and the words that name it. Data only."""

FORMS: tuple[tuple[str, str, str], ...] = (
    (
        "gb.nino",
        "national insurance number,national insurance no,national insurance,nino,ni number,ni no",
        r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z][ .-]?(?:\d\d[ .-]?){3}[A-D]",
    ),
    (
        "passport",
        "passport,passport number,passport no,passport nr,passport num,passport card,travel document"
        ",reisepass,reisepassnummer,passnummer,numero de passeport,passeport,pasaporte"
        ",numero de pasaporte,passaporto,paspoort,paszport,passport id,паспорт"
        ",护照,护照号,护照号码,여권번호,パスポート番号,旅券番号",
        r"[A-Z]{0,3} ?\d{6,9}[A-Z]?|\d{2} ?\d{2} ?\d{6}|[CFGHJKLMNPRTVWXYZ]\d[CFGHJKLMNPRTVWXYZ0-9]{7,8}",
    ),
    (
        "driving licence",
        "driving licence,driving licence number,driving licence no,driving license,driver license"
        ",driver licence,drivers license,driver's license,driver's licence,driver license number"
        ",driver's license number,drivers license number,licence number,license number,fuhrerschein"
        ",fuhrerscheinnummer,permis de conduire,carnet de conducir,patente di guida,rijbewijs"
        ",rijbewijsnummer,dl number,dl no",
        r"[A-Z9]{5}[ -]?\d{6}[ -]?[A-Z9]{2}[ -]?[A-Z0-9]{3}(?: ?\d\d)?|[A-Z]{1,2}\d{6,14}[A-Z]?"
        r"|[A-Z]\d{2,4}(?:[ -]\d{2,6}){2,4}|\d{7,10}|[A-Z]\d{2}[A-Z0-9]{6}\d{2}|\d{3} \d{3} \d{3}",
    ),
    (
        "identity card",
        "personalausweis,personalausweisnummer,ausweisnummer,national id,national id number"
        ",national id no,national identity number,national identification number,identity card number"
        ",id card number,id card no,numero de carte d'identite,carta d'identita",
        r"[A-Z]{0,3}[ -]?\d{6,12}[A-Z]?|[CFGHJKLMNPRTVWXYZ]\d[CFGHJKLMNPRTVWXYZ0-9]{7}\d?"
        r"|\d{3}-\d{2,4}-\d{3,6}|[A-Z]{2}\d{5}[A-Z]{2}",
    ),
    (
        "health insurance",
        "medicare number,medicare no,medicare card,mbi,health card number,health insurance number"
        ",health insurance no,versichertennummer,krankenversichertennummer,krankenversicherungsnummer"
        ",health insurance id",
        r"[1-9][A-Z][A-Z0-9]\d-?[A-Z][A-Z0-9]\d-?[A-Z]{2}\d\d|[A-Z]\d{9}|\d{4} ?\d{5} ?\d(?:[ /-]?\d)?"
        r"|\d{4}[ -]\d{3}[ -]\d{3}|\d{9,12}[A-Z]?",
    ),
    (
        "residence",
        "alien number,alien registration number,a-number,uscis number,green card number,residence permit"
        ",residence permit number,residence card number,visa number,visa no",
        r"A?[ -]?\d{3}[ -]?\d{3}[ -]?\d{3}|[A-Z]{1,3}\d{7,10}",
    ),
)  # fmt: skip
"""(name, words, form) of numbers without a public checksum: found only right behind their label. Sources: HMRC
NIM39110, ICAO 9303, DVLA INF1D and the AAMVA's list of licence formats, the issuers' pages, from
memory on 2026-11-22."""

AMBIGUOUS = frozenset((
    "run", "pin", "pan", "sin", "bis", "tin", "vid", "kt", "cc", "ci", "cr", "ni", "nn", "rc", "ric", "nit", "nic",
    "nid", "rut", "ice", "mf", "cf", "dic", "vat", "eid", "spi", "phn", "inn", "ipn", "rif", "nir", "pps", "tva",
    "upn", "avs", "unp", "pib", "ein", "cui", "cif", "npwp", "nif", "rfc", "ruc", "mst", "ubn", "cpr", "insee",
    "documento", "passport", "nas", "c.f", "r.c", "national id", "residence permit", "mbi", "licence number",
    "license number", "travel document", "medicare card", "visa no", "dl no", "national insurance",
))  # fmt: skip
"""Words that also mean something else: they count only as labels, with a sign or in capitals, right before the number.
"""

COUNTRIES: tuple[tuple[str, str], ...] = (
    ("ad.nrt", "nrt,registre tributari"),
    ("al.nipt", "nipt,nuis"),
    ("ar.cuit", "cuit,cuil,identificacion tributaria"),
    ("ar.dni", "dni,documento nacional,documento"),
    ("at.tin", "abgabenkontonummer,steuernummer"),
    ("at.vnr", "vnr,svnr,vsnr,sv-nummer,svnummer,versicherungsnummer,sozialversicherungsnummer"),
    ("au.tfn", "tfn,tax file number,tax file"),
    ("az.voen", "voen"),
    ("be.bis", "bis,bis number"),
    ("be.eid", "eid,eid number,identiteitskaart,carte d'identite"),
    ("be.nn", "nn,niss,insz,rrn,rijksregisternummer,registre national,numero national,national number"),
    ("be.ssn", "ssn,insz,niss,social security number,social security"),
    ("bg.egn", "egn,егн"),
    ("bg.pnf", "pnf,лнч"),
    ("br.cpf", "cpf,cadastro de pessoas fisicas"),
    ("by.unp", "unp,унп"),
    ("ca.bc_phn", "phn,personal health number,health number"),
    ("ca.sin", "nas,sin,social insurance number,social insurance,numero d'assurance sociale"),
    ("ch.ssn", "ahv,avs,avs-nummer,ahv-nummer,social security number,sozialversicherungsnummer,swiss social security"),
    ("cl.rut", "rut,run,rol unico"),
    ("cn.ric", "ric,ric no,resident identity,id card,id card number,identity card,身份证"
        ",身份证号,身份证号码,公民身份号码,居民身份证,身分證字號"),
    ("co.nit", "nit,cedula,numero de identificacion"),
    ("cr.cpf", "cpf,cedula,cedula de persona fisica"),
    ("cr.cr", "cr,cedula de residencia,dimex"),
    ("cu.ni", "ni,carne de identidad,numero de identidad"),
    ("cz.rc", "rc,rodne cislo,birth number,r.c"),
    ("cz.dic", "dic,danove identifikacni cislo"),
    ("de.idnr", "idnr,steuer-id,steuerid,identifikationsnummer,steueridentifikationsnummer,tax id"),
    ("de.stnr", "st.-nr,stnr,steuernummer,st-nr"),
    ("dk.cpr", "cpr,cpr-nr,cpr-nummer,personnummer"),
    ("do.cedula", "cedula"),
    ("do.rnc", "rnc"),
    ("dz.nif", "nif,n.i.f"),
    ("ec.ci", "ci,cedula,cedula de identidad"),
    ("ec.ruc", "ruc"),
    ("ee.ik", "isikukood,personal id,personal code"),
    ("eg.tn", "tax registration number,tax registration"),
    ("es.dni", "dni,nif,documento nacional"),
    ("es.nie", "nie,numero de identidad de extranjero"),
    ("es.nif", "nif,numero de identificacion fiscal"),
    ("fi.hetu", "hetu,henkilotunnus,personal identity code"),
    ("fi.veronumero", "veronumero"),
    ("fr.nif", "nif,spi,numero fiscal,immatriculation fiscale"),
    ("fr.nir", "nir,insee,securite sociale,numero de secu,secu,carte vitale,numero de securite sociale"),
    ("gb.nhs", "nhs,nhs number,nhs no"),
    ("gb.utr", "utr,unique taxpayer reference,taxpayer reference"),
    ("gb.upn", "upn,unique pupil number"),
    ("gh.tin", "tin,taxpayer identification number,taxpayer identification"),
    ("gr.amka", "amka,αμκα"),
    ("gt.nit", "nit"),
    ("hr.oib", "oib,osobni identifikacijski broj"),
    ("hu.anum", "anum,adoszam"),
    ("id.nik", "nik,ktp,nomor induk"),
    ("id.npwp", "npwp"),
    ("ie.pps", "pps,ppsn,pps no,personal public service"),
    ("il.idnr", "identity number,teudat zehut,mispar zehut,id number,מספר זהות,תעודת זהות,תז"),
    ("in_.aadhaar", "aadhaar,aadhar,uidai,आधार,आधार संख्या"),
    ("in_.epic", "epic,voter id"),
    ("in_.pan", "pan,permanent account number,pan card"),
    ("in_.vid", "vid,virtual id"),
    ("is_.kennitala", "kennitala,kt"),
    ("it.codicefiscale", "codice fiscale,cf,c.f,cod. fiscale"),
    ("it.iva", "partita iva,p.iva"),
    ("jp.in_", "my number,in number,individual number,kojin bango,マイナンバー,個人番号"),
    ("ke.pin", "pin,kra pin"),
    ("kr.rrn", "rrn,resident registration number,resident registration,주민등록번호"),
    ("li.peid", "peid"),
    ("lt.asmens", "asmens kodas,asmens kodo,personal code"),
    ("lv.pvn", "pvn,personas kods,personas kodu"),
    ("mk.edb", "edb,едб"),
    ("mu.nid", "nid,id number,national identity"),
    ("mx.curp", "curp"),
    ("mx.rfc", "rfc,registro federal de contribuyentes"),
    ("my.nric", "nric,nric no,mykad,ic number"),
    ("mz.nuit", "nuit"),
    ("nl.bsn", "bsn,burgerservicenummer,sofinummer,sofi"),
    ("nl.identiteitskaartnummer", "identiteitskaartnummer,paspoortnummer"),
    ("nl.onderwijsnummer", "onderwijsnummer"),
    ("no.fodselsnummer", "fodselsnummer,personnummer,birth number,fnr"),
    ("nz.ird", "ird,ird number,inland revenue"),
    ("pe.cui", "cui,dni"),
    ("pe.ruc", "ruc"),
    ("pk.cnic", "cnic,nic"),
    ("pl.pesel", "pesel"),
    ("pt.cc", "cc,cartao de cidadao,citizen card"),
    ("pt.nif", "nif,contribuinte"),
    ("py.ruc", "ruc"),
    ("ro.cnp", "cnp,cod numeric personal"),
    ("ro.cui", "cui,cif"),
    ("rs.pib", "pib"),
    ("ru.inn", "inn,инн"),
    ("se.personnummer", "personnummer,samordningsnummer,personal number"),
    ("si.emso", "emso,enotna maticna stevilka,maticna stevilka,obcana"),
    ("sk.rc", "rc,rodne cislo"),
    ("sv.nit", "nit"),
    ("th.pin", "pin,thai id,personal identification number,เลขประจำตัวประชาชน,บัตรประชาชน"),
    ("th.tin", "tin"),
    ("tr.tckimlik", "t.c. kimlik,tc kimlik,kimlik no,kimlik,tckn"),
    ("tr.vkn", "vkn,vergi kimlik"),
    ("ua.rntrc", "rntrc,рнокпп,ipn,іпн,ідентифікаційний номер"),
    ("us.itin", "itin"),
    ("us.atin", "atin"),
    ("us.ptin", "ptin"),
    ("uy.rut", "rut"),
    ("ve.rif", "rif"),
    ("vn.mst", "mst,ma so thue"),
    ("za.idnr", "id number,identity number,identity document,rsa id,sa id,south african id"),
    ("za.tin", "tin,tax reference"),
    ("us.tin", "tin"),
    ("us.ein", "ein"),
    ("lu.tva", "tva"),
    ("mc.tva", "tva"),
    ("mt.vat", "vat"),
    ("cy.vat", "vat,φ.π.α,φπα"),
    ("md.idno", "idno"),
    ("me.pib", "pib"),
    ("sn.ninea", "ninea"),
    ("tn.mf", "mf,matricule fiscal"),
    ("lt.pvm", "pvm"),
    ("tw.ubn", "ubn"),
    ("ma.ice", "ice"),
)  # fmt: skip
"""(python-stdnum module, comma-separated words, in any case and with accents folded, of which one must precede its
number)."""
